internal import Spatial

/// A parser and encoder of the words in a line of stored trips.
struct TripFields {
  struct Failure: Error {}

  private(set) var text = ""
  private var rest: Substring = ""
  /// The position in the line of the last word that was read, from 1.
  private(set) var position = 0

  init() {}

  init(_ text: Substring) { rest = text }

  private static let nothing = "-"
  /// Units per degree and per second in stored tracks.
  static let (degrees, seconds) = (1e7, 1e3)

  // MARK: Writing

  private mutating func add(_ word: String) { text += text.isEmpty ? word : " " + word }

  mutating func write(_ number: Double?) { add(number.map { "\($0)" } ?? Self.nothing) }

  mutating func write(_ flag: Bool) { add(flag ? "yes" : "no") }

  /// Encodes a text as one word without spaces.
  mutating func write(_ string: String?) {
    guard let string else { return add(Self.nothing) }
    add("=" + Self.escaped(string))
  }

  mutating func write(_ point: TripPoint) {
    write(point.distance)
    write(point.estimated)
    write(point.time)
    write(point.coordinate?.latitude)
    write(point.coordinate?.longitude)
    write(point.accuracy)
  }

  mutating func write(_ time: UTCTime?) { add(time.map { "\($0.nanoseconds)" } ?? Self.nothing) }

  mutating func write(_ counts: [String: Int]) {
    guard !counts.isEmpty else { return add(Self.nothing) }
    add(
      counts.sorted { $0.key < $1.key }.map { "\(Self.escaped($0.key)):\($0.value)" }.joined(separator: ","))
  }

  mutating func write(_ track: TripTrack) {
    write(track.bound)
    let points = track.points.map { point in
      let numbers = [
        (point.elapsed * Self.seconds).rounded(), (point.coordinate.latitude * Self.degrees).rounded(),
        (point.coordinate.longitude * Self.degrees).rounded(),
      ]
      return numbers.map { "\(Int64($0))" }.joined(separator: ",")
    }
    add(points.isEmpty ? Self.nothing : points.joined(separator: ";"))
  }

  private static func escaped(_ string: String) -> String {
    var text = ""
    for byte in string.utf8 {
      let isPlain =
        (0x21...0x7E).contains(byte) && byte != UInt8(ascii: "%") && byte != UInt8(ascii: ":")
        && byte != UInt8(ascii: ",")
      if isPlain {
        text.unicodeScalars.append(Unicode.Scalar(byte))
      } else {
        text += "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16)
      }
    }
    return text
  }

  // MARK: Reading

  mutating func word() throws(Failure) -> Substring {
    position += 1
    guard !rest.isEmpty else { throw Failure() }
    let end = rest.firstIndex(of: " ") ?? rest.endIndex
    defer { rest = end == rest.endIndex ? "" : rest[rest.index(after: end)...] }
    return rest[..<end]
  }

  mutating func optional(in range: ClosedRange<Double>) throws(Failure) -> Double? {
    let word = try word()
    guard word != Self.nothing else { return nil }
    guard let number = Double(word), range.contains(number) else { throw Failure() }
    return number
  }

  mutating func number(in range: ClosedRange<Double>) throws(Failure) -> Double {
    guard let number = try optional(in: range) else { throw Failure() }
    return number
  }

  mutating func seconds() throws(Failure) -> Double { try number(in: 0...1e12) }

  mutating func integer(in range: ClosedRange<Int>) throws(Failure) -> Int {
    Int(try number(in: Double(range.lowerBound)...Double(range.upperBound)))
  }

  mutating func flag() throws(Failure) -> Bool { try word() == "yes" }

  mutating func kind() throws(Failure) -> TripRecord.Kind {
    guard let string = try optionalString(), let kind = TripRecord.Kind(rawValue: string) else {
      throw Failure()
    }
    return kind
  }

  mutating func string() throws(Failure) -> String {
    guard let string = try optionalString() else { throw Failure() }
    return string
  }

  mutating func optionalString() throws(Failure) -> String? {
    let word = try word()
    guard word != Self.nothing else { return nil }
    guard word.hasPrefix("=") else { throw Failure() }
    return try Self.unescaped(word.dropFirst())
  }

  mutating func point() throws(Failure) -> TripPoint {
    var point = TripPoint()
    point.distance = try number(in: 0...OdometerState.farthest)
    point.estimated = try number(in: 0...OdometerState.farthest)
    point.time = try time()
    point.coordinate = try coordinate()
    point.accuracy = try optional(in: 0...1e9)
    return point
  }

  mutating func time() throws(Failure) -> UTCTime? {
    let word = try word()
    guard word != Self.nothing else { return nil }
    guard let nanoseconds = Int64(word) else { throw Failure() }
    return UTCTime(nanoseconds: nanoseconds)
  }

  mutating func requiredTime() throws(Failure) -> UTCTime {
    guard let time = try time() else { throw Failure() }
    return time
  }

  mutating func coordinate() throws(Failure) -> Coordinate? {
    let latitude = try optional(in: -90...90)
    guard let longitude = try optional(in: -360...360), let latitude else { return nil }
    return Coordinate(latitude: latitude, longitude: longitude)
  }

  mutating func counts() throws(Failure) -> [String: Int] {
    let word = try word()
    guard word != Self.nothing else { return [:] }
    var counts: [String: Int] = [:]
    for pair in word.split(separator: ",") {
      let parts = pair.split(separator: ":", omittingEmptySubsequences: false)
      guard parts.count == 2, let count = Int(parts[1]), count >= 0 else { throw Failure() }
      counts[try Self.unescaped(parts[0])] = count
    }
    return counts
  }

  mutating func track() throws(Failure) -> TripTrack {
    let bound = try number(in: 0...1e9)
    let word = try word()
    guard word != Self.nothing else { return TripTrack(points: [], bound: bound) }
    var points: [TripTrack.Point] = []
    for part in word.split(separator: ";") {
      let numbers = part.split(separator: ",").compactMap { Double($0) }
      guard numbers.count == 3 else { throw Failure() }
      points.append(
        TripTrack.Point(
          elapsed: numbers[0] / Self.seconds,
          coordinate: Coordinate(latitude: numbers[1] / Self.degrees, longitude: numbers[2] / Self.degrees)))
    }
    return TripTrack(points: points, bound: bound)
  }

  private static func unescaped(_ text: Substring) throws(Failure) -> String {
    var bytes: [UInt8] = []
    var rest = text.utf8[...]
    while let byte = rest.popFirst() {
      guard byte == UInt8(ascii: "%") else {
        bytes.append(byte)
        continue
      }
      guard let value = UInt8(Substring(rest.prefix(2)), radix: 16) else { throw Failure() }
      bytes.append(value)
      rest = rest.dropFirst(2)
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}
