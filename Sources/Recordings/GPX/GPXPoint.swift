internal import Bytes
internal import Sensors
internal import Spatial

/// A track, route or way point as a GPX file has it.
struct GPXPoint: Sendable, Hashable {
  /// The elements that hold points, in the order in which they are preferred.
  enum Element: String, Sendable, CaseIterable {
    case track = "trkpt"
    case route = "rtept"
    case way = "wpt"
  }

  var line: Int
  var coordinate: Coordinate
  var time: UTCTime?
  var elevation: Double?
  var speed: Double?
  var course: Double?
  var horizontalDilution: Double?
  var satellitesUsed: Int?
  var mode: FixMode?

  init(line: Int, coordinate: Coordinate) {
    self.line = line
    self.coordinate = coordinate
  }

  /// Takes the text of an element inside the point, by its name without prefix. Returns what is wrong with it;
  /// nil when it is fine or of no interest.
  mutating func take(_ text: [UInt8], of element: String) -> String? {
    let value = DecimalText.number(text.span)
    switch element {
    case "ele": elevation = value
    case "hdop": horizontalDilution = value.flatMap { $0 >= 0 ? $0 : nil }
    case "sat": satellitesUsed = DecimalText.integer(text.span)
    case "speed": speed = value.flatMap { $0 >= 0 ? $0 : nil }
    case "course": course = value.map(normalizedDegrees)
    case "fix":
      switch String(decoding: text, as: UTF8.self) {
      case "none": mode = .noFix
      case "2d": mode = .twoDimensional
      case "3d", "dgps", "pps": mode = .threeDimensional
      default: return "<fix> is \"\(excerpt(text))\""
      }
    case "time":
      let string = String(decoding: text, as: UTF8.self)
      // GPX demands UTC, but some writers leave the Z out.
      time = UTCTime(rfc3339: string) ?? UTCTime(rfc3339: string + "Z")
      return time == nil ? "<time> is \"\(excerpt(text))\"" : nil
    default: return nil
    }
    let isNumber = ["ele", "hdop", "speed", "course"].contains(element)
    return isNumber && value == nil ? "<\(element)> is \"\(excerpt(text))\"" : nil
  }

  /// The report of this point. What a receiver without a fix writes for a position is none.
  func fix(at timestamp: Timestamp) -> PositionFix {
    var fix = PositionFix(timestamp: timestamp, time: time, mode: mode)
    fix.satellitesUsed = satellitesUsed
    guard mode != .noFix else { return fix }
    fix.mode = mode ?? (elevation == nil ? .twoDimensional : .threeDimensional)
    fix.coordinate = coordinate
    fix.altitudeMeanSeaLevel = elevation
    fix.speed = speed
    fix.course = course
    fix.horizontalDilution = horizontalDilution
    return fix
  }
}
