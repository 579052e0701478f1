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
    case region
    case battery
    case backlog
    case temperature
    case energy
    case version
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
      case .region: .region
      case .battery: .battery
      case .backlog: .backlog
      case .temperature: .temperature
      case .energy: .energy
      case .version: .version
      case .event: .event
      case .missing: nil
      }
    }

    /// Whether what is looked for first is the most, as the fastest or the hottest.
    var beginsWithMost: Bool {
      switch self {
      case .position, .within, .speed, .attitude, .backlog, .temperature, .energy, .missing: true
      case .vehicle, .state, .age, .course, .heading, .region, .battery, .version, .event: false
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

  /// The sign of the direction, the same in every table: `▲` where values rise from row to row, `▼` where they fall.
  var mark: String { criterion.beginsWithMost == isReversed ? "▲" : "▼" }

  /// As they are written on the command line.
  static let names = Criterion.allCases.map(\.name)

  init(criterion: Criterion = .vehicle, isReversed: Bool = false) {
    self.criterion = criterion
    self.isReversed = isReversed
  }

  /// Parses the order of `--sort`. A plain name starts with what operators look for (`beginsWithMost`); one with `-` before it
  /// sorts descending, one with `+` ascending.
  /// - Throws: `FleetError` listing the names, for one that is not among them.
  init(parsing name: String) throws(FleetError) {
    let sign = name.first.flatMap { "+-".contains($0) ? $0 : nil }
    let plain = sign == nil ? name : String(name.dropFirst())
    guard let criterion = Criterion.allCases.first(where: { $0.name == plain }) else {
      let meant = Spelling.nearest(to: plain, among: Self.names).map { "did you mean \($0)? " } ?? ""
      throw .usage(
        "sort by", "\"\(name.prefix(40))\"",
        "\(meant)--sort is \(Self.names.joined(separator: ", ")), with - before it for descending, with + for ascending")
    }
    self.criterion = criterion
    isReversed = sign.map { ($0 == "-") != criterion.beginsWithMost } ?? false
  }

  /// Sorts places in a roster's vehicles; those that are alike, and those that the criterion says nothing about, stand
  /// by name. Places are sorted and not the records, which are large.
  func sorted(_ places: [Int], of vehicles: [VehicleRecord], at now: Moment) -> [Int] {
    switch criterion {
    case .vehicle:
      return places.sorted {
        let (a, b) = isReversed ? ($1, $0) : ($0, $1)
        return Self.precedes(vehicles[a], vehicles[b])
      }
    case .state:
      return sort(places, vehicles) { Double(VehicleState.allCases.firstIndex(of: $0.state) ?? 0) }
    case .age: return sort(places, vehicles) { $0.age(at: now) }
    // The fastest first: that is what one looks for.
    case .speed:
      return sort(places, vehicles) { record in
        record.isLocationStale(at: now) ? nil : record.location?.message.location.speed.map { -$0 }
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
      return sort(places, vehicles) { $0.isLocationStale(at: now) ? nil : $0.location?.message.location.course }
    case .heading:
      return sort(places, vehicles) {
        $0.heading.map { $0.message.trueHeading ?? $0.message.magneticHeading }
      }
    // The most tilted first: one that lies on its side is what one looks for.
    case .attitude:
      return sort(places, vehicles) { record in
        guard let attitude = record.attitude, record.state != .offline,
          let tilt = attitude.message.tilt
        else { return nil }
        return -max(abs(tilt.roll), abs(tilt.pitch))
      }
    case .region:
      return sort(places, vehicles, byText: { $0.insideRegions.joined(separator: ", ") })
    // The emptiest first.
    case .battery:
      return sort(places, vehicles) { record in
        let battery = record.status?.message.device?.battery
        return battery?.level ?? battery?.voltage
      }
    case .backlog: return sort(places, vehicles) { $0.backlog.map { -Double($0) } }
    case .temperature: return sort(places, vehicles) { $0.status?.message.device?.temperature.map { -$0 } }
    case .energy: return sort(places, vehicles) { ($0.status?.message.energy?.total).map { -$0 } }
    case .version:
      return sort(places, vehicles, byText: { $0.status?.message.version.map(NaturalOrder.key) ?? "" })
    // The newest first.
    case .event: return sort(places, vehicles) { $0.event.map { now.seconds(since: $0.receivedAt) } }
    case .missing: return sort(places, vehicles) { $0.missing > 0 ? -Double($0.missing) : nil }
    }
  }

  private func sort(
    _ places: [Int], _ vehicles: [VehicleRecord], by value: (VehicleRecord) -> Double?
  ) -> [Int] {
    sort(places, vehicles, byValue: value)
  }

  /// - Parameter text: empty where there is none.
  private func sort(
    _ places: [Int], _ vehicles: [VehicleRecord], byText text: (VehicleRecord) -> String
  ) -> [Int] {
    sort(places, vehicles, byValue: { record in Optional(text(record)).flatMap { $0.isEmpty ? nil : $0 } })
  }

  private func sort<Value: Comparable>(
    _ places: [Int], _ vehicles: [VehicleRecord], byValue value: (VehicleRecord) -> Value?
  ) -> [Int] {
    let keyed = places.map { (place: $0, value: value(vehicles[$0])) }
    return keyed.sorted { a, b in
      switch (a.value, b.value) {
      case (let x?, let y?) where x != y: isReversed ? y < x : x < y
      case (_?, nil): true
      case (nil, _?): false
      default: Self.precedes(vehicles[a.place], vehicles[b.place])
      }
    }.map(\.place)
  }

  /// By name.
  private static func precedes(_ a: VehicleRecord, _ b: VehicleRecord) -> Bool {
    a.sortKey == b.sortKey ? a.key < b.key : a.sortKey < b.sortKey
  }
}

extension VehicleRecord {
  /// Messages that the vehicle has accepted and the broker has not acknowledged; nil where it does not say.
  package var backlog: Int? { status?.message.counters["queue.records"] }
}
