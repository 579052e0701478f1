internal import Bytes
internal import Spatial
internal import XML

/// Makes points out of what the XML parser reports.
final class GPXHandler: XMLHandler {
  /// Points that are complete and not yet taken.
  var points: [GPXPoint] = []
  /// Why the file cannot be read further.
  private(set) var failure: RecordingError?
  var wantsMore: Bool { failure == nil }
  /// The point elements that were met so far.
  private(set) var elementsSeen: Set<GPXPoint.Element> = []

  private static let deepestNesting = 64
  private static let longestText = 256

  private let path: String
  private let wanted: GPXPoint.Element?
  private var depth = 0
  private var point: GPXPoint?
  private var pointDepth = 0
  private var text: [UInt8] = []

  /// - Parameter wanted: which points to make; nil only to see which elements there are.
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
    guard let latitude = attribute("lat").flatMap({ DecimalText.number($0.utf8.span) }),
      let longitude = attribute("lon").flatMap({ DecimalText.number($0.utf8.span) })
    else {
      return fail(line, "<\(name)> lacks a numeric lat or lon", "remove the point or give both in degrees")
    }
    let coordinate = Coordinate(latitude: latitude, longitude: longitude)
    guard coordinate.isValid else {
      return fail(
        line, "<\(name)> lies at \(latitude), \(longitude)",
        "latitude is within ±90 degrees, longitude within ±180")
    }
    point = GPXPoint(line: line, coordinate: coordinate)
    pointDepth = depth
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
    } else if let problem = open.take(trimmed(text), of: name) {
      fail(line, problem, "correct or remove the element")
    } else {
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

  private func fail(_ line: Int, _ problem: String, _ remedy: String) {
    failure = failure ?? RecordingError(file: path, line: line, problem: problem, remedy: remedy)
  }
}
