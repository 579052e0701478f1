internal import Bytes
package import Spatial
package import Telemetry

/// Formatting of quantities for display: road units, fixed widths, significant digits only.
package enum QuantityText {
  /// Formats a number with fixed decimals; nil if it is out of range.
  package static func fixed(_ value: Double, decimals: Int, plus: Bool = false) -> String? {
    guard value.isFinite, abs(value) < 1e9 else { return nil }
    var bytes: [UInt8] = []
    bytes.append(decimal: value, places: decimals, isPadded: true)
    let text = String(decoding: bytes, as: UTF8.self)
    return plus && value > 0 && text.contains(where: { ("1"..."9").contains($0) }) ? "+" + text : text
  }

  /// Formats seconds as a single number with a suitable unit: `5 s`, `59 min`, `3 h`, `12 d`.
  package static func age(_ seconds: Double) -> String {
    switch seconds {
    case ..<60: "\(Int(max(0, seconds))) s"
    case ..<3600: "\(Int(seconds / 60)) min"
    case ..<(48 * 3600): "\(Int(seconds / 3600)) h"
    case ..<(1e5 * 86_400): "\(Int(seconds / 86_400)) d"
    default: "–"
    }
  }

  /// Formats degrees with five decimals (one metre).
  package static func position(_ coordinate: Coordinate) -> String {
    let latitude = fixed(coordinate.latitude, decimals: 5) ?? "–"
    let longitude = fixed(coordinate.longitude, decimals: 5) ?? "–"
    return "\(latitude) " + String(repeating: " ", count: max(0, 10 - longitude.utf8.count)) + longitude
  }

  /// Formats a distance in metres or kilometres.
  package static func distance(_ metres: Double) -> String {
    switch metres {
    case ..<9.95: "\(fixed(metres, decimals: 1) ?? "–") m"
    case ..<999.5: "\(fixed(metres, decimals: 0) ?? "–") m"
    default: "\(fixed(metres / 1000, decimals: metres < 99_950 ? 1 : 0) ?? "–") km"
    }
  }

  /// Formats a speed as km/h, with one decimal below 100.
  package static func speed(_ metresPerSecond: Double) -> String {
    let value = metresPerSecond * 3.6
    return (fixed(value, decimals: value < 99.95 ? 1 : 0) ?? "–") + " km/h"
  }

  /// Formats an energy with a suitable unit.
  package static func energy(_ joules: Double) -> String {
    switch joules {
    case ..<999.5: "\(fixed(joules, decimals: 0) ?? "–") J"
    case ..<999_950: "\(fixed(joules / 1e3, decimals: 1) ?? "–") kJ"
    default: "\(fixed(joules / 1e6, decimals: 1) ?? "–") MJ"
    }
  }

  private static let arrows = ["↑", "↗", "→", "↘", "↓", "↙", "←", "↖"]

  /// Formats degrees clockwise from north, with an arrow in this direction.
  package static func direction(_ degrees: Double) -> String {
    guard degrees.isFinite else { return "–" }
    let angle = normalizedDegrees(degrees)
    let arrow = arrows[Int((angle / 45).rounded()) % 8]
    let number = "\(Int(angle.rounded()) % 360)°"
    return "\(arrow) " + String(repeating: " ", count: 4 - number.count) + number
  }

  /// Formats roll, pitch and yaw in degrees as far as known; nil if none is.
  package static func attitude(_ message: AttitudeMessage) -> String? {
    func part(_ radians: Double?, width: Int) -> String {
      let text = radians.flatMap { fixed($0.degrees, decimals: 1) }.map { $0 + "°" } ?? "–"
      return String(repeating: " ", count: max(0, width - text.count)) + text
    }
    return message.tilt.map { tilt in
      part(tilt.roll, width: 7) + " " + part(tilt.pitch, width: 6) + " " + part(message.angles?.yaw, width: 7)
    }
  }

  /// Formats bytes per second.
  package static func byteRate(_ bytesPerSecond: Double) -> String {
    switch bytesPerSecond {
    case ..<1000: "\(fixed(bytesPerSecond, decimals: 0) ?? "0") B/s"
    case ..<1e6: "\(fixed(bytesPerSecond / 1e3, decimals: 1) ?? "–") kB/s"
    default: "\(fixed(bytesPerSecond / 1e6, decimals: 1) ?? "–") MB/s"
    }
  }

  /// Formats a delay in seconds.
  package static func delay(_ seconds: Double) -> String {
    switch abs(seconds) {
    case ..<1: "\(fixed(seconds * 1000, decimals: 0) ?? "–") ms"
    case ..<100: "\(fixed(seconds, decimals: 1) ?? "–") s"
    default: (seconds < 0 ? "-" : "") + age(abs(seconds))
    }
  }
}

extension QuantityText {
  /// Formats a count, abbreviated from a million.
  package static func count(_ number: Int) -> String {
    switch number {
    case ..<1_000_000: "\(number)"
    case ..<1_000_000_000: (fixed(Double(number) / 1e6, decimals: 2) ?? "–") + "M"
    default: (fixed(Double(number) / 1e9, decimals: 1) ?? "–") + "G"
    }
  }

  /// Formats a rate of messages per second.
  package static func rate(_ perSecond: Double) -> String {
    fixed(perSecond, decimals: perSecond < 10 ? 2 : (perSecond < 1000 ? 1 : 0)) ?? "–"
  }

  /// Formats a number of bytes.
  package static func volume(_ bytes: Double) -> String {
    switch bytes {
    case ..<1000: (fixed(bytes, decimals: 0) ?? "–") + " B"
    case ..<1e6: (fixed(bytes / 1e3, decimals: 1) ?? "–") + " kB"
    case ..<1e9: (fixed(bytes / 1e6, decimals: 1) ?? "–") + " MB"
    default: (fixed(bytes / 1e9, decimals: 1) ?? "–") + " GB"
    }
  }
}
