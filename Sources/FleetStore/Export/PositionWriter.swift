internal import Fleet
internal import JSON
internal import Spatial
internal import Telemetry

/// Turns positions, which come by vehicle and in order of time, into a document, piece by piece.
protocol PositionWriter {
  /// What was written and not yet taken away.
  var bytes: [UInt8] { get set }
  mutating func begin()
  mutating func append(_ position: RecordedPosition)
  mutating func end()
}

extension PositionWriter {
  mutating func write(_ text: StaticString) {
    text.withUTF8Buffer { unsafe bytes.append(contentsOf: $0) }
  }

  mutating func write(_ text: String) { bytes.append(contentsOf: text.utf8) }

  /// A number with at most so many decimals, never with an exponent.
  mutating func write(_ number: Double, decimals: Int) {
    var writer = JSONWriter(capacity: 24)
    writer.value(number, decimals: decimals)
    bytes.append(contentsOf: writer.bytes)
  }
}

/// Decimals of what is written: nine of a degree are a tenth of a millimetre, more than anything was recorded with.
enum ExportPrecision {
  static let degrees = 9
  static let metres = 3
  static let course = 3
}

/// Where tracks begin: at a new vehicle, and where none was heard for a while.
struct TrackBreaks {
  enum Place {
    case newVehicle
    case newSegment
    case within
  }

  /// Seconds.
  let gap: Double
  private var last: (vehicle: VehicleKey, time: UTCTime)?

  init(gap: Double) { self.gap = gap }

  mutating func place(of position: RecordedPosition) -> Place {
    defer { last = (position.vehicle, position.time) }
    guard let last, last.vehicle == position.vehicle else { return .newVehicle }
    return position.time.seconds(since: last.time) > gap ? .newSegment : .within
  }
}

/// Text inside of XML.
enum XMLText {
  /// Escapes what XML gives a meaning to. Characters that XML 1.0 cannot hold become U+FFFD, and so do others that are not
  /// shown but acted upon, which nobody who reads such a file expects in a name.
  static func escaped(_ text: String) -> String {
    var result = ""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "&": result += "&amp;"
      case "<": result += "&lt;"
      case ">": result += "&gt;"
      case "\"": result += "&quot;"
      case "'": result += "&apos;"
      default:
        let isForbidden = scalar.isUnseen || scalar.value == 0xFFFE || scalar.value == 0xFFFF
        result.unicodeScalars.append(isForbidden ? "\u{FFFD}" : scalar)
      }
    }
    return result
  }
}
