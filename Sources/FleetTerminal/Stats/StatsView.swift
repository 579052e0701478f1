internal import Fleet
package import FleetProgram
internal import Spatial
internal import Telemetry

/// The table of counters with its key bindings, independent of the terminal.
package struct StatsView: Sendable {
  var sorting = StatsColumn.vehicle
  package var isReversed = false
  package private(set) var offset = 0
  package private(set) var size = TerminalSize.usual
  package let title: String

  package init(title: String) { self.title = title }

  package mutating func handle(_ key: Key) -> LiveAction {
    switch key {
    case .character("q"), .character("Q"), .control("c"): return .quit
    case .up, .character("k"): offset = max(0, offset - 1)
    case .down, .character("j"): offset = min(offset, Int.max / 4) + 1
    case .pageUp: offset = max(0, offset - pageRows)
    case .pageDown, .character(" "): offset = min(offset, Int.max / 4) + pageRows
    case .home, .character("g"): offset = 0
    case .end, .character("G"): offset = Int.max / 2
    case .character("s"):
      sorting = sorting.next
      isReversed = false
    case .character("r"), .character("S"): isReversed.toggle()
    default: return .none
    }
    return .redraw
  }

  private var pageRows: Int { max(1, size.rows - 4) }

  /// Returns the screen.
  ///
  /// - Parameter seconds: the time since the start of the count.
  package mutating func frame(
    of statistics: StreamStatistics, seconds: Double, rates: Rates, size: TerminalSize,
    trouble: String?
  ) -> Frame {
    self.size = size
    var frame = Frame(size: size)
    for (row, line) in Self.totals(of: statistics, seconds: seconds, rates: rates).enumerated() {
      frame.put(line, row: row)
    }
    let places = sorted(statistics.vehicles)
    offset = max(0, min(offset, places.count - pageRows))
    let (layout, namesFleet) = Self.layout(statistics, width: size.columns)
    frame.put(titles(layout), row: 2)
    for (row, place) in places[offset..<min(places.count, offset + pageRows)].enumerated() {
      frame.put(
        Self.line(statistics.vehicles[place], layout, seconds: seconds, namesFleet: namesFleet), row: 3 + row)
    }
    if size.rows > 4 {
      let keys = StyledText("q quit  s sort  r reverse  ↑↓ scroll", style: .dim)
      frame.put(
        trouble.map { StyledText($0, style: TextStyle(.red)) } ?? keys, row: size.rows - 1)
    }
    return frame
  }

  /// Returns the table as text, printed at the end.
  package func text(of statistics: StreamStatistics, seconds: Double, width: Int, styles: Bool) -> String {
    let rates = Rates(
      messages: Double(statistics.messages - statistics.retained) / seconds,
      bytes: Double(statistics.bytes - statistics.retainedBytes) / seconds)
    var lines = Self.totals(of: statistics, seconds: seconds, rates: rates)
    let (layout, namesFleet) = Self.layout(statistics, width: width)
    lines.append(titles(layout))
    for place in sorted(statistics.vehicles) {
      lines.append(
        Self.line(statistics.vehicles[place], layout, seconds: seconds, namesFleet: namesFleet))
    }
    return lines.map { $0.rendered(styles: styles) + "\n" }.joined()
  }

  private func sorted(_ vehicles: [VehicleStatistics]) -> [Int] {
    let keyed = vehicles.indices.map { (place: $0, value: sorting.value(vehicles[$0]) ?? 0) }
    return keyed.sorted { a, b in
      let (a, b) = isReversed ? (b, a) : (a, b)
      return a.value == b.value ? vehicles[a.place].key < vehicles[b.place].key : a.value > b.value
    }.map(\.place)
  }

  private static func layout(
    _ statistics: StreamStatistics, width: Int
  ) -> (columns: [(column: StatsColumn, width: Int)], namesFleet: Bool) {
    let namesFleet = Set(statistics.vehicles.lazy.map(\.key.fleet)).count > 1
    let longest = statistics.vehicles.reduce(0) {
      max($0, VehicleRow.name($1.key, withFleet: namesFleet).utf8.count)
    }
    return (StatsColumn.layout(width: width, longestName: min(longest, 40)), namesFleet)
  }

  private static func totals(
    of statistics: StreamStatistics, seconds: Double, rates: Rates
  ) -> [StyledText] {
    let count = statistics.vehicles.count
    var first = StyledText("\(count) \(count == 1 ? "vehicle" : "vehicles")", style: .bold)
    first.append("  \(QuantityText.rate(rates.messages)) msg/s  \(QuantityText.byteRate(rates.bytes))")
    first.append("  \(QuantityText.count(statistics.messages)) messages")
    first.append(" in \(QuantityText.age(seconds))")
    if statistics.retained > 0 { first.append(", \(QuantityText.count(statistics.retained)) kept before") }
    var second = StyledText()
    if let median = statistics.delays.quantile(0.5), let tail = statistics.delays.quantile(0.99) {
      second.append("delay \(QuantityText.delay(median)), 99 % \(QuantityText.delay(tail))  ")
    }
    let troubles = [
      (statistics.missing, "missing"), (statistics.late, "late"), (statistics.duplicates, "twice"),
      (statistics.unreadable, "unreadable"), (statistics.foreign, "of other topics"),
      (statistics.withoutRoom, "without room"),
    ]
    let parts = troubles.filter { $0.0 > 0 }.map { "\(QuantityText.count($0.0)) \($0.1)" }
    second.append(
      parts.isEmpty ? "nothing missing" : parts.joined(separator: "  "),
      style: parts.isEmpty ? .dim : TextStyle(.yellow))
    return [first, second]
  }

  private func titles(_ layout: [(column: StatsColumn, width: Int)]) -> StyledText {
    StyledText(
      columns: layout.map { column, width in
        let mark = column == sorting ? (isReversed == (column == .vehicle) ? "▼" : "▲") : ""
        let title = StyledText(column.title + mark, style: TextStyle(.cyan, bold: column == sorting))
        return (title, width, column.alignment)
      })
  }

  private static func line(
    _ vehicle: VehicleStatistics, _ layout: [(column: StatsColumn, width: Int)], seconds: Double,
    namesFleet: Bool
  ) -> StyledText {
    StyledText(
      columns: layout.map {
        ($0.column.text(vehicle, seconds: seconds, namesFleet: namesFleet), $0.width, $0.column.alignment)
      })
  }
}

/// A column of the table of counters.
enum StatsColumn: Int, CaseIterable, Hashable, Sendable {
  case vehicle
  case rate
  case volume
  case messages
  case delay
  case longest
  case missing
  case late
  case duplicates
  case unreadable

  var title: String {
    switch self {
    case .vehicle: "VEHICLE"
    case .rate: "MSG/S"
    case .volume: "BYTES/H"
    case .messages: "MESSAGES"
    case .delay: "DELAY"
    case .longest: "LONGEST"
    case .missing: "MISSING"
    case .late: "LATE"
    case .duplicates: "TWICE"
    case .unreadable: "UNREADABLE"
    }
  }

  /// The width in terminal columns.
  var width: Int {
    switch self {
    case .vehicle: 12
    case .rate: 7
    case .volume: 8
    case .messages: 8
    case .delay, .longest: 7
    case .missing: 7
    case .late, .duplicates: 5
    case .unreadable: 10
    }
  }

  var alignment: TextAlignment { self == .vehicle ? .left : .right }

  var next: StatsColumn { Self(rawValue: rawValue + 1) ?? .vehicle }

  func text(_ vehicle: VehicleStatistics, seconds: Double, namesFleet: Bool) -> StyledText {
    func count(_ number: Int) -> StyledText {
      number == 0
        ? StyledText("–", style: .dim) : StyledText(QuantityText.count(number), style: TextStyle(.yellow))
    }
    switch self {
    case .vehicle: return StyledText(VehicleRow.name(vehicle.key, withFleet: namesFleet), style: .bold)
    case .rate: return StyledText(QuantityText.rate(Double(vehicle.messages) / seconds))
    case .volume: return StyledText(QuantityText.volume(Double(vehicle.bytes) / seconds * 3600))
    case .messages: return StyledText(QuantityText.count(vehicle.messages))
    case .delay: return StyledText(vehicle.meanDelay.map(QuantityText.delay) ?? "–")
    case .longest: return StyledText(vehicle.delayCount > 0 ? QuantityText.delay(vehicle.longestDelay) : "–")
    case .missing: return count(vehicle.missing)
    case .late: return count(vehicle.late)
    case .duplicates: return count(vehicle.duplicates)
    case .unreadable: return count(vehicle.unreadable)
    }
  }

  /// Returns the value by which vehicles are sorted, the largest first; nil to sort by name.
  func value(_ vehicle: VehicleStatistics) -> Double? {
    switch self {
    case .vehicle: nil
    case .rate, .messages: Double(vehicle.messages)
    case .volume: Double(vehicle.bytes)
    case .delay: vehicle.meanDelay ?? -.infinity
    case .longest: vehicle.longestDelay
    case .missing: Double(vehicle.missing)
    case .late: Double(vehicle.late)
    case .duplicates: Double(vehicle.duplicates)
    case .unreadable: Double(vehicle.unreadable)
    }
  }

  /// Returns the columns that fit, with their widths; remaining space is added to the name.
  static func layout(width: Int, longestName: Int) -> [(column: StatsColumn, width: Int)] {
    var left = width - vehicle.width
    var kept: [StatsColumn] = [.vehicle]
    for column in allCases.dropFirst() {
      guard column.width + 2 <= left else { break }
      kept.append(column)
      left -= column.width + 2
    }
    let name = max(1, min(width, vehicle.width + max(0, min(left, longestName - vehicle.width))))
    return kept.map { ($0, $0 == .vehicle ? name : $0.width) }
  }
}
