internal import Fleet
internal import Positioning
internal import Spatial
internal import Telemetry

/// By what the table is sorted.
struct VehicleOrder: Hashable, Sendable {
  /// In the order of the columns.
  enum Criterion: Int, CaseIterable, Hashable, Sendable {
    case vehicle
    case state
    case age
    case position
    case within
    case speed
    case course
    case heading
    case attitude
    case event
    case missing

    /// As it is written on the command line.
    var name: String { "\(self)" }

    /// Where the mark of the sort stands; nil for what has no column.
    var column: WatchColumn? {
      switch self {
      case .vehicle: .vehicle
      case .state: .state
      case .age: .age
      case .position: .position
      case .within: .within
      case .speed: .speed
      case .course: .course
      case .heading: .heading
      case .attitude: .attitude
      case .event: .event
      case .missing: nil
      }
    }

    init(_ column: WatchColumn) { self = Self.allCases.first { $0.column == column } ?? .vehicle }

    /// The next one that has a column among these, or has none in any table.
    func next(among columns: [WatchColumn]) -> Criterion {
      let offered = Self.allCases.filter { $0.column.map(columns.contains) ?? true }
      return offered.first { $0.rawValue > rawValue } ?? offered.first ?? .vehicle
    }
  }

  var criterion: Criterion = .vehicle
  var isReversed = false

  /// As they are written on the command line.
  static let names = Criterion.allCases.map(\.name)

  init(criterion: Criterion = .vehicle, isReversed: Bool = false) {
    self.criterion = criterion
    self.isReversed = isReversed
  }

  /// The order of a name; one with `-` before it goes the other way round.
  /// - Throws: `FleetError` listing the names, for one that is not among them.
  init(parsing name: String) throws(FleetError) {
    isReversed = name.hasPrefix("-")
    let plain = isReversed ? String(name.dropFirst()) : name
    guard let criterion = Criterion.allCases.first(where: { $0.name == plain }) else {
      throw .usage(
        "sort by", "\"\(name.prefix(40))\"",
        "--sort is \(Self.names.joined(separator: ", ")), or one of them with - before it")
    }
    self.criterion = criterion
  }

  /// Sorts places in a roster's vehicles; those that are alike, and those that the criterion says nothing about, stand
  /// by name. Places are sorted and not the records, which are large.
  func sorted(_ places: [Int], of vehicles: [VehicleRecord], at now: Moment) -> [Int] {
    switch criterion {
    case .vehicle:
      return places.sorted {
        let (a, b) = isReversed ? ($1, $0) : ($0, $1)
        return vehicles[a].key < vehicles[b].key
      }
    case .state:
      return sort(places, vehicles) { Double(VehicleState.allCases.firstIndex(of: $0.state) ?? 0) }
    case .age: return sort(places, vehicles) { $0.age(at: now) }
    // The fastest first: that is what one looks for.
    case .speed:
      return sort(places, vehicles) { record in
        record.isLocationStale ? nil : record.location?.message.location.speed.map { -$0 }
      }
    // From north to south, as on a map.
    case .position:
      return sort(places, vehicles) { $0.location.map { -$0.message.location.coordinate.latitude } }
    // The least certain first.
    case .within:
      return sort(places, vehicles) { record in
        (record.predictedPosition(at: now)?.bound ?? record.location?.message.location.horizontalAccuracy).map
        { -$0 }
      }
    case .course:
      return sort(places, vehicles) { $0.isLocationStale ? nil : $0.location?.message.location.course }
    case .heading:
      return sort(places, vehicles) {
        $0.heading.map { $0.message.trueHeading ?? $0.message.magneticHeading }
      }
    // The most tilted first: one that lies on its side is what one looks for.
    case .attitude:
      return sort(places, vehicles) { record in
        guard let attitude = record.attitude, record.state != .offline, !attitude.isRetained,
          let tilt = attitude.message.tilt
        else { return nil }
        return -max(abs(tilt.roll), abs(tilt.pitch))
      }
    // The newest first.
    case .event: return sort(places, vehicles) { $0.event.map { now.seconds(since: $0.receivedAt) } }
    case .missing: return sort(places, vehicles) { $0.missing > 0 ? -Double($0.missing) : nil }
    }
  }

  private func sort(
    _ places: [Int], _ vehicles: [VehicleRecord], by value: (VehicleRecord) -> Double?
  ) -> [Int] {
    let keyed = places.map { (place: $0, value: value(vehicles[$0])) }
    return keyed.sorted { a, b in
      switch (a.value, b.value) {
      case (let x?, let y?) where x != y: isReversed ? y < x : x < y
      case (_?, nil): true
      case (nil, _?): false
      default: vehicles[a.place].key < vehicles[b.place].key
      }
    }.map(\.place)
  }
}

/// Which vehicles are shown.
struct VehicleFilter: Hashable, Sendable {
  var text = ""

  /// Whether every word is found in the name or the state; upper and lower case are alike.
  func matches(_ record: VehicleRecord) -> Bool {
    if text.isEmpty { return true }
    let haystack = "\(record.key) \(record.state.rawValue)".lowercased()
    return text.lowercased().split(separator: " ").allSatisfy { haystack.contains($0) }
  }
}

/// A column of the live table.
enum WatchColumn: Int, CaseIterable, Hashable, Sendable {
  case vehicle
  case state
  case age
  case position
  case within
  case speed
  case course
  case heading
  case attitude
  case event

  var title: String {
    switch self {
    case .vehicle: "VEHICLE"
    case .state: "STATE"
    case .age: "AGE"
    case .position: "POSITION"
    case .within: "WITHIN"
    case .speed: "SPEED"
    case .course: "COURSE"
    case .heading: "HEAD"
    case .attitude: "ROLL  PITCH     YAW"
    case .event: "LAST EVENT"
    }
  }

  var alignment: TextAlignment {
    switch self {
    case .vehicle, .state, .event: .left
    default: .right
    }
  }

  /// Columns of the terminal that it takes at least.
  var width: Int {
    switch self {
    case .vehicle: 10
    case .state: 9
    case .age: 6
    case .position: 21
    case .within: 7
    case .speed: 10
    case .course, .heading: 6
    case .attitude: 22
    case .event: 12
    }
  }

  /// Which columns a narrow terminal keeps: the first ones.
  static let byPriority: [WatchColumn] = [
    .vehicle, .state, .position, .age, .speed, .course, .heading, .event, .attitude, .within,
  ]

  static let gap = 2

  /// The columns that fit, in the order in which they stand, with their widths.
  ///
  /// What is left over goes to the vehicle's name as far as the longest name needs it, and then to the last event.
  static func layout(width: Int, longestName: Int) -> [(column: WatchColumn, width: Int)] {
    let nameWidth = min(max(longestName, 9), vehicle.width)
    var left = width
    var kept: Set<WatchColumn> = []
    for column in byPriority {
      let needed = (column == .vehicle ? nameWidth : column.width) + (kept.isEmpty ? 0 : gap)
      guard needed <= left || kept.isEmpty else { continue }
      kept.insert(column)
      left -= needed
    }
    let wanted = min(longestName, 40)
    let forName = max(0, min(left, wanted - nameWidth))
    return allCases.filter(kept.contains).map { column in
      switch column {
      case .vehicle: (column, max(1, min(width, nameWidth + forName)))
      case .event: (column, column.width + min(left - forName, 40))
      default: (column, column.width)
      }
    }
  }
}
