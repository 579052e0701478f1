internal import Bytes
package import Fleet
internal import Spatial
internal import Telemetry
internal import VehicleData

/// The sort order of the table.
package struct VehicleOrder: Hashable, Sendable {
  /// The criteria in the order of the columns.
  package enum Criterion: CaseIterable, Hashable, Sendable {
    case column(WatchColumn)
    /// The number of missing messages, which has no column.
    case missing

    package static let allCases = WatchColumn.allCases.map(Criterion.column) + [.missing]

    /// The name on the command line.
    package var name: String { column?.name ?? "missing" }

    /// The column whose title shows the direction; nil for a criterion without a column.
    package var column: WatchColumn? { if case .column(let column) = self { column } else { nil } }

    /// True if the largest values come first by default, such as the fastest vehicle.
    var beginsWithMost: Bool {
      switch column {
      case nil, .position, .within, .speed, .attitude, .backlog, .temperature, .energy: true
      case .vehicle, .state, .age, .course, .heading, .region, .battery, .version, .event: false
      }
    }

    /// Returns the next criterion that has no column, or whose column is among `columns`.
    func next(among columns: [WatchColumn]) -> Criterion {
      let offered = Self.allCases.filter { $0.column.map(columns.contains) ?? true }
      let following = Self.allCases.drop { $0 != self }.dropFirst()
      return following.first(where: offered.contains) ?? offered.first ?? .column(.vehicle)
    }
  }

  package var criterion: Criterion = .column(.vehicle)
  package var isReversed = false

  /// The sign of the direction: `▲` for ascending values, `▼` for descending ones.
  package var mark: String { criterion.beginsWithMost == isReversed ? "▲" : "▼" }

  /// The names on the command line.
  package static let names = Criterion.allCases.map(\.name)

  package init(criterion: Criterion = .column(.vehicle), isReversed: Bool = false) {
    self.criterion = criterion
    self.isReversed = isReversed
  }

  /// Parses the order of `--sort`: a name, preceded by `-` for descending or `+` for ascending order. Without a
  /// sign, `beginsWithMost` determines the direction.
  /// - Throws: `FleetError` listing the valid names, for an unknown name.
  package init(parsing name: String) throws(FleetError) {
    let sign = name.first.flatMap { "+-".contains($0) ? $0 : nil }
    let plain = sign == nil ? name : String(name.dropFirst())
    guard let criterion = Criterion.allCases.first(where: { $0.name == plain }) else {
      let meant = Spelling.nearest(to: plain, among: Self.names).map { "did you mean \($0)? " } ?? ""
      throw .usage(
        "sort by", "\"\(name.prefix(40))\"",
        "\(meant)--sort accepts \(Self.names.joined(separator: ", ")); -name sorts descending, +name ascending"
      )
    }
    self.criterion = criterion
    isReversed = sign.map { ($0 == "-") != criterion.beginsWithMost } ?? false
  }

  /// Sorts indices of a roster's vehicles; vehicles with equal or unknown values are sorted by name. Indices
  /// are sorted instead of the large records.
  package func sorted(_ places: [Int], of vehicles: [VehicleRecord], at now: Moment) -> [Int] {
    switch criterion.column {
    case .vehicle:
      return places.sorted {
        let (a, b) = isReversed ? ($1, $0) : ($0, $1)
        return Self.precedes(vehicles[a], vehicles[b])
      }
    case .state:
      return sort(places, vehicles) { Double(VehicleState.allCases.firstIndex(of: $0.state) ?? 0) }
    case .age: return sort(places, vehicles) { $0.age(at: now) }
    // The fastest first.
    case .speed:
      return sort(places, vehicles) { record in
        record.isMotionCurrent(at: now) ? record.location?.message.location.speed.map { -$0 } : nil
      }
    // From north to south, as on a map.
    case .position:
      return sort(places, vehicles) { $0.location.map { -$0.message.location.coordinate.latitude } }
    // The least accurate first.
    case .within:
      return sort(places, vehicles) { $0.shownPosition(at: now)?.radius.map { -$0 } }
    case .course:
      return sort(places, vehicles) {
        $0.isMotionCurrent(at: now) ? $0.location?.message.location.course : nil
      }
    case .heading:
      return sort(places, vehicles) {
        $0.heading.map { $0.message.trueHeading ?? $0.message.magneticHeading }
      }
    // The most tilted first.
    case .attitude:
      return sort(places, vehicles) { record in
        guard let attitude = record.attitude, record.state != .offline,
          let tilt = attitude.message.tilt
        else { return nil }
        return -max(abs(tilt.roll), abs(tilt.pitch))
      }
    case .region:
      return sort(places, vehicles, byText: { $0.insideRegions.joined(separator: ", ") })
    // The lowest charge first.
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
    case nil: return sort(places, vehicles) { $0.missing > 0 ? -Double($0.missing) : nil }
    }
  }

  private func sort(
    _ places: [Int], _ vehicles: [VehicleRecord], by value: (VehicleRecord) -> Double?
  ) -> [Int] {
    sort(places, vehicles, byValue: value)
  }

  /// Sorts vehicles by a text.
  ///
  /// - Parameter text: returns a vehicle's text; empty if there is none.
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

  /// Returns whether the name of `a` precedes the name of `b`.
  private static func precedes(_ a: VehicleRecord, _ b: VehicleRecord) -> Bool {
    a.sortKey == b.sortKey ? a.key < b.key : a.sortKey < b.sortKey
  }
}
