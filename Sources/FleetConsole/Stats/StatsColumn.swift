internal import Telemetry

/// A column of the table of counts.
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

  /// Columns of the terminal.
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

  /// What it is sorted by, the most first; nil for the name.
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

  /// The columns that fit, with their widths; what is left over goes to the name.
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

extension QuantityText {
  /// A count, shortened from a million on.
  package static func count(_ number: Int) -> String {
    switch number {
    case ..<1_000_000: "\(number)"
    case ..<1_000_000_000: (fixed(Double(number) / 1e6, decimals: 2) ?? "–") + "M"
    default: (fixed(Double(number) / 1e9, decimals: 1) ?? "–") + "G"
    }
  }

  /// Messages in a second.
  package static func rate(_ perSecond: Double) -> String {
    fixed(perSecond, decimals: perSecond < 10 ? 2 : (perSecond < 1000 ? 1 : 0)) ?? "–"
  }

  /// Bytes.
  package static func volume(_ bytes: Double) -> String {
    switch bytes {
    case ..<1000: (fixed(bytes, decimals: 0) ?? "–") + " B"
    case ..<1e6: (fixed(bytes / 1e3, decimals: 1) ?? "–") + " kB"
    case ..<1e9: (fixed(bytes / 1e6, decimals: 1) ?? "–") + " MB"
    default: (fixed(bytes / 1e9, decimals: 1) ?? "–") + " GB"
    }
  }
}
