internal import Bytes
internal import Sensors
internal import Spatial
internal import XML

/// Reads points from a GPX file block by block, with memory independent of the file's size.
final class GPXReader {
  private static let blockSize = 32 * 1024

  private let file: RecordingFile
  private let parser: XMLParser
  private let handler: GPXHandler
  private var offset: Int64 = 0
  private var isFinished = false
  private var taken = 0

  /// - Throws: `RecordingError` if there is no memory for a parser.
  init(file: RecordingFile, wanted: GPXPoint.Element?) throws(RecordingError) {
    self.file = file
    handler = GPXHandler(path: file.path, wanted: wanted)
    guard let parser = XMLParser(handler) else {
      throw RecordingError(file: file.path, problem: "no memory for a parser", remedy: "free some memory")
    }
    self.parser = parser
  }

  /// Returns the next point; nil at the end of the file.
  /// - Throws: `RecordingError` with the line, for a file that is not well-formed or contains an invalid
  ///   value.
  func next() throws(RecordingError) -> GPXPoint? {
    while taken == handler.points.count {
      handler.points.removeAll(keepingCapacity: true)
      taken = 0
      if let failure = handler.failure { throw failure }
      if isFinished { return nil }
      try parseBlock()
    }
    defer { taken += 1 }
    return handler.points[taken]
  }

  /// Returns the kind of element to play: the most preferred one in the file. Reads up to the first track
  /// point.
  func preferredElement() throws(RecordingError) -> GPXPoint.Element? {
    while !isFinished, !handler.elementsSeen.contains(.track) {
      if let failure = handler.failure { throw failure }
      try parseBlock()
    }
    return GPXPoint.Element.allCases.first(where: handler.elementsSeen.contains)
  }

  private func parseBlock() throws(RecordingError) {
    var block: [UInt8] = []
    let length = try file.read(Self.blockSize, at: offset, into: &block)
    offset += Int64(length)
    isFinished = length == 0
    // An invalid value stops the parser without an XML error: the points before it are still returned, and
    // then `next` throws `handler.failure`.
    do throws(XMLError) { try parser.parse(block, isLast: isFinished) } catch {
      throw RecordingError(
        file: file.path, line: error.line, problem: error.reason,
        remedy: "give a GPX file; this one is damaged or something else")
    }
  }
}

/// Creates points from the XML parser's events.
final class GPXHandler: XMLHandler {
  /// Completed points that have not been returned.
  var points: [GPXPoint] = []
  /// The error that prevents further reading.
  private(set) var failure: RecordingError?
  var wantsMore: Bool { failure == nil }
  /// The kinds of point elements found so far.
  private(set) var elementsSeen: Set<GPXPoint.Element> = []

  private static let deepestNesting = 64
  private static let longestText = 256

  private let path: String
  private let wanted: GPXPoint.Element?
  private var depth = 0
  private var point: GPXPoint?
  private var pointDepth = 0
  private var text: [UInt8] = []

  /// - Parameter wanted: kind of points to create; nil only detects the existing kinds.
  init(path: String, wanted: GPXPoint.Element?) {
    self.path = path
    self.wanted = wanted
  }

  func begin(_ name: String, line: Int, attribute: (String) -> String?) {
    depth += 1
    text.removeAll(keepingCapacity: true)
    if depth == 1, name != "gpx" {
      fail(line, "the outermost element is <\(excerpt(name.utf8))>, not <gpx>", "give a GPX file")
    }
    if depth > Self.deepestNesting {
      fail(line, "elements are nested more than \(Self.deepestNesting) deep", "give a GPX file")
    }
    guard let element = GPXPoint.Element(rawValue: name) else { return }
    elementsSeen.insert(element)
    guard element == wanted else { return }
    pointDepth = depth
    let latitude = attribute("lat").flatMap { DecimalText.number($0.utf8.span) }
    let longitude = attribute("lon").flatMap { DecimalText.number($0.utf8.span) }
    let coordinate = Coordinate(latitude: latitude ?? .nan, longitude: longitude ?? .nan)
    var open = GPXPoint(line: line, coordinate: coordinate)
    if latitude == nil || longitude == nil {
      open.fault = error(line, "<\(name)> lacks a numeric lat or lon", "give both in degrees")
    } else if !coordinate.isValid {
      open.fault = error(
        line, "<\(name)> has the position \(coordinate.latitude), \(coordinate.longitude)",
        "latitude is within ±90 degrees, longitude within ±180")
    }
    point = open
  }

  func append(_ bytes: Span<UInt8>) {
    guard point != nil else { return }
    for index in bytes.indices where text.count <= Self.longestText { text.append(bytes[index]) }
  }

  func end(_ name: String, line: Int) {
    defer {
      depth -= 1
      text.removeAll(keepingCapacity: true)
    }
    guard var open = point else { return }
    if depth == pointDepth {
      points.append(open)
      point = nil
    } else {
      let problem = open.set(trimmed(text), of: name)
      open.fault = open.fault ?? problem.map { error(line, $0, "correct or remove the element") }
      point = open
    }
  }

  private func trimmed(_ text: [UInt8]) -> [UInt8] {
    let isBlank: (UInt8) -> Bool = { $0 == 32 || (9...13).contains($0) }
    guard let first = text.firstIndex(where: { !isBlank($0) }),
      let last = text.lastIndex(where: { !isBlank($0) })
    else { return [] }
    return Array(text[first...last])
  }

  private func error(_ line: Int, _ problem: String, _ remedy: String) -> RecordingError {
    RecordingError(file: path, line: line, problem: problem, remedy: remedy)
  }

  private func fail(_ line: Int, _ problem: String, _ remedy: String) {
    failure = failure ?? error(line, problem, remedy)
  }
}

/// A track, route or way point of a GPX file.
struct GPXPoint: Sendable, Hashable {
  /// The elements that contain points, in order of preference.
  enum Element: String, Sendable, CaseIterable {
    case track = "trkpt"
    case route = "rtept"
    case way = "wpt"
  }

  let line: Int
  /// The reason why the point cannot be used; nil for a valid one.
  var fault: RecordingError?
  /// Values from the file; the timestamp is added later.
  private var parsed: PositionFix

  var time: UTCTime? { parsed.time }

  var hasPosition: Bool { parsed.mode != .noFix }

  init(line: Int, coordinate: Coordinate) {
    self.line = line
    parsed = PositionFix(timestamp: Timestamp(nanoseconds: 0), coordinate: coordinate)
  }

  /// Sets the value of an element within the point, by its name without prefix. Returns the problem; nil if
  /// the value is valid, and for elements that are not used.
  mutating func set(_ text: [UInt8], of element: String) -> String? {
    let value = DecimalText.number(text.span)
    switch element {
    case "ele": parsed.altitudeMeanSeaLevel = value
    case "hdop": parsed.horizontalDilution = value.flatMap { $0 >= 0 ? $0 : nil }
    case "sat": parsed.satellitesUsed = DecimalText.integer(text.span)
    case "speed": parsed.speed = value.flatMap { $0 >= 0 ? $0 : nil }
    case "course": parsed.course = value.map(normalizedDegrees)
    case "fix":
      switch String(decoding: text, as: UTF8.self) {
      case "none": parsed.mode = .noFix
      case "2d": parsed.mode = .twoDimensional
      case "3d", "dgps", "pps": parsed.mode = .threeDimensional
      default: return "<fix> is \"\(excerpt(text))\""
      }
    case "time":
      let string = String(decoding: text, as: UTF8.self)
      // GPX requires UTC, but some writers omit the Z.
      parsed.time = UTCTime(rfc3339: string) ?? UTCTime(rfc3339: string + "Z")
      return time == nil ? "<time> is \"\(excerpt(text))\"" : nil
    default: return nil
    }
    let isNumber = ["ele", "hdop", "speed", "course"].contains(element)
    return isNumber && value == nil ? "<\(element)> is \"\(excerpt(text))\"" : nil
  }

  /// Returns the report of this point. A position written by a receiver without a fix is ignored.
  func fix(at timestamp: Timestamp) -> PositionFix {
    var fix = parsed
    fix.timestamp = timestamp
    if parsed.mode == .noFix {
      fix = PositionFix(timestamp: timestamp, time: time, mode: .noFix)
      fix.satellitesUsed = parsed.satellitesUsed
    }
    fix.mode = parsed.mode ?? (parsed.altitudeMeanSeaLevel == nil ? .twoDimensional : .threeDimensional)
    return fix
  }
}
