public import Sensors
internal import Spatial

// The format consists of readable lines "key value ...": a version, the values, and a checksum over all
// previous lines. Keys of later minor versions are skipped.
extension OdometerState {
  private static let firstLine = "odograph-odometer 1"

  /// The state as UTF-8 text; numbers have all significant digits.
  public var text: String {
    var lines = [Self.firstLine, "distance \(distance)", "estimated \(estimated)", "offset \(offset)"]
    if let place {
      lines.append("place \(place.coordinate.latitude) \(place.coordinate.longitude) \(place.radius)")
    }
    if let velocity { lines.append("velocity \(velocity.x) \(velocity.y)") }
    if let reported { lines.append("reported \(reported)") }
    if let time { lines.append("time \(time.nanoseconds)") }
    return CheckedLines.text(lines)
  }

  /// Parses a text created by `text`. The result is valid (`isValid`).
  /// - Throws: `StoredStateError` with the line.
  public init(text: String) throws(StoredStateError) {
    func failure(_ line: Int, _ problem: String) -> StoredStateError {
      StoredStateError(
        description:
          "line \(line): \(problem); the command set-odometer sets the reading"
      )
    }
    guard let lines = CheckedLines.lines(of: text) else {
      throw failure(
        text.utf8.count { $0 == UInt8(ascii: "\n") } + 1, "the checksum does not match, the file is damaged")
    }
    guard lines.first == Self.firstLine[...] else { throw failure(1, "not an odometer file of this version") }
    var numbers: [Substring: [Double]] = [:]
    var time: UTCTime?
    for (index, line) in lines.enumerated().dropFirst() {
      let words = line.split(separator: " ")
      guard let key = words.first else { continue }
      if key == "time" {
        guard words.count == 2, let nanoseconds = Int64(words[1]) else {
          throw failure(index + 1, "not a time")
        }
        time = UTCTime(nanoseconds: nanoseconds)
        continue
      }
      let count = ["distance": 1, "estimated": 1, "offset": 1, "place": 3, "velocity": 2, "reported": 1][key]
      guard let count else { continue }
      let values = words.dropFirst().compactMap { Double($0) }
      guard values.count == count, numbers.updateValue(values, forKey: key) == nil else {
        throw failure(index + 1, "\(key) must occur once, with \(count) values")
      }
    }
    guard let distance = numbers["distance"], let estimated = numbers["estimated"],
      let offset = numbers["offset"]
    else { throw failure(2, "distance, estimated or offset is missing") }
    self.init(
      distance: distance[0], estimated: estimated[0], offset: offset[0],
      place: numbers["place"].map {
        Place(coordinate: Coordinate(latitude: $0[0], longitude: $0[1]), radius: $0[2])
      }, velocity: numbers["velocity"].map { SIMD2($0[0], $0[1]) }, time: time,
      reported: numbers["reported"]?[0])
    guard isValid else { throw failure(2, "implausible numbers") }
  }
}
