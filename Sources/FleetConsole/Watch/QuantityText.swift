internal import Bytes
package import Spatial
package import Telemetry

/// Numbers as people read them: units of the road, fixed widths, no more digits than mean something.
package enum QuantityText {
  /// A number with a fixed count of decimals; nil when it is too large to be one of these quantities.
  package static func fixed(_ value: Double, decimals: Int, plus: Bool = false) -> String? {
    guard value.isFinite, abs(value) < 1e9 else { return nil }
    var bytes: [UInt8] = []
    bytes.append(decimal: value, places: decimals, isPadded: true)
    let text = String(decoding: bytes, as: UTF8.self)
    return plus && value > 0 && text.contains(where: { ("1"..."9").contains($0) }) ? "+" + text : text
  }

  /// Seconds as one number with the unit that suits it: `5 s`, `59 min`, `3 h`, `12 d`.
  package static func age(_ seconds: Double) -> String {
    switch seconds {
    case ..<60: "\(Int(max(0, seconds))) s"
    case ..<3600: "\(Int(seconds / 60)) min"
    case ..<(48 * 3600): "\(Int(seconds / 3600)) h"
    case ..<(1e5 * 86_400): "\(Int(seconds / 86_400)) d"
    default: "–"
    }
  }

  /// Degrees with five decimals, which is a metre.
  package static func position(_ coordinate: Coordinate) -> String {
    let latitude = fixed(coordinate.latitude, decimals: 5) ?? "–"
    let longitude = fixed(coordinate.longitude, decimals: 5) ?? "–"
    return "\(latitude) " + String(repeating: " ", count: max(0, 10 - longitude.utf8.count)) + longitude
  }

  /// Metres, or kilometres where there are many.
  package static func distance(_ metres: Double) -> String {
    switch metres {
    case ..<9.95: "\(fixed(metres, decimals: 1) ?? "–") m"
    case ..<999.5: "\(fixed(metres, decimals: 0) ?? "–") m"
    default: "\(fixed(metres / 1000, decimals: metres < 99_950 ? 1 : 0) ?? "–") km"
    }
  }

  /// Metres per second as km/h, with a decimal below 100.
  package static func speed(_ metresPerSecond: Double) -> String {
    let value = metresPerSecond * 3.6
    return (fixed(value, decimals: value < 99.95 ? 1 : 0) ?? "–") + " km/h"
  }

  /// Joules, in the unit that suits them.
  static func energy(_ joules: Double) -> String {
    switch joules {
    case ..<999.5: "\(fixed(joules, decimals: 0) ?? "–") J"
    case ..<999_950: "\(fixed(joules / 1e3, decimals: 1) ?? "–") kJ"
    default: "\(fixed(joules / 1e6, decimals: 1) ?? "–") MJ"
    }
  }

  private static let arrows = ["↑", "↗", "→", "↘", "↓", "↙", "←", "↖"]

  /// Degrees clockwise from north, with the arrow that points there on a map.
  package static func direction(_ degrees: Double) -> String {
    guard degrees.isFinite else { return "–" }
    let angle = normalizedDegrees(degrees)
    let arrow = arrows[Int((angle / 45).rounded()) % 8]
    let number = "\(Int(angle.rounded()) % 360)°"
    return "\(arrow) " + String(repeating: " ", count: 4 - number.count) + number
  }

  /// Roll, pitch and yaw in degrees, as far as they are known; nil when nothing is.
  package static func attitude(_ message: AttitudeMessage) -> String? {
    func part(_ radians: Double?, width: Int) -> String {
      let text = radians.flatMap { fixed($0.degrees, decimals: 1) }.map { $0 + "°" } ?? "–"
      return String(repeating: " ", count: max(0, width - text.count)) + text
    }
    return message.tilt.map { tilt in
      part(tilt.roll, width: 7) + " " + part(tilt.pitch, width: 6) + " " + part(message.angles?.yaw, width: 7)
    }
  }

  /// Bytes in a second.
  static func byteRate(_ bytesPerSecond: Double) -> String {
    switch bytesPerSecond {
    case ..<1000: "\(fixed(bytesPerSecond, decimals: 0) ?? "0") B/s"
    case ..<1e6: "\(fixed(bytesPerSecond / 1e3, decimals: 1) ?? "–") kB/s"
    default: "\(fixed(bytesPerSecond / 1e6, decimals: 1) ?? "–") MB/s"
    }
  }

  /// A delay in seconds.
  package static func delay(_ seconds: Double) -> String {
    switch abs(seconds) {
    case ..<1: "\(fixed(seconds * 1000, decimals: 0) ?? "–") ms"
    case ..<100: "\(fixed(seconds, decimals: 1) ?? "–") s"
    default: (seconds < 0 ? "-" : "") + age(abs(seconds))
    }
  }
}
