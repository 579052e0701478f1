internal import JSON
internal import Spatial

// A route as `points` and `times`: Google's encoded polyline, and milliseconds since the start as second
// differences.

/// Encodes the positions of a route with their times.
struct TrackEncoder {
  /// Start of the route in milliseconds, rounded down.
  let start: UTCTime
  private let scale: Double
  private var points = DeltaEncoder()
  private var times = DeltaEncoder()
  private var last: (latitude: Int64, longitude: Int64, milliseconds: Int64) = (0, 0, 0)

  /// - Parameter precision: decimals of a degree.
  init(start: UTCTime, precision: Int) {
    self.start = UTCTime(nanoseconds: start.nanoseconds.flooredMilliseconds * 1_000_000)
    scale = Self.scale(precision)
  }

  mutating func append(_ coordinate: Coordinate, at time: UTCTime) {
    let latitude = Int64((coordinate.latitude * scale).rounded())
    let longitude = Int64((coordinate.longitude * scale).rounded())
    points.append(difference: latitude - last.latitude)
    points.append(difference: longitude - last.longitude)
    let milliseconds = time.nanoseconds.flooredMilliseconds - start.nanoseconds / 1_000_000
    times.append(milliseconds - last.milliseconds)
    last = (latitude, longitude, milliseconds)
  }

  func write(to json: inout JSONWriter) {
    json.field("points", String(decoding: points.text, as: UTF8.self))
    json.field("times", String(decoding: times.text, as: UTF8.self))
  }

  static func scale(_ precision: Int) -> Double {
    (0..<precision).reduce(1) { scale, _ in scale * 10 }
  }
}

/// Decodes the positions of a route.
struct TrackDecoder {
  private let start: UTCTime
  private let scale: Double
  private let degrees, steps: [Int64]
  private var milliseconds: Int64 = 0
  private var index = 0

  /// - Throws: `JSONError` naming the key that is missing, invalid or has another number of positions than
  ///   `count`.
  init(json: JSONValue, start: UTCTime, count: Int, precision: Int) throws(JSONError) {
    self.start = start
    scale = TrackEncoder.scale(precision)
    degrees = try DeltaDecoder.numbers(json, "points", count: 2 * count, stride: 2)
    steps = try DeltaDecoder.numbers(json, "times", count: count)
  }

  /// Returns the next position. Call this function at most once for each position.
  /// - Throws: `JSONError` naming the key with an invalid coordinate or time.
  mutating func next() throws(JSONError) -> (time: UTCTime, coordinate: Coordinate) {
    defer { index += 1 }
    let coordinate = Coordinate(
      latitude: Double(degrees[2 * index]) / scale, longitude: Double(degrees[2 * index + 1]) / scale)
    guard coordinate.isValid else {
      throw JSONError("key \"points\": point \(index) has invalid coordinates")
    }
    milliseconds &+= steps[index]
    // A century before or after the start exceeds every route, and keeps the sum in the range of the integer.
    guard (-3_200_000_000_000...3_200_000_000_000).contains(milliseconds) else {
      throw JSONError("key \"times\": fix \(index) is more than a century away from the start")
    }
    return (start.advanced(bySeconds: Double(milliseconds) / 1000), coordinate)
  }
}

extension DeltaDecoder {
  /// Reads the numbers of a key's text, each encoded as its difference from the number `stride` positions
  /// before.
  /// - Throws: `JSONError` naming the key that is missing, invalid or has another number of values than
  ///   `count`.
  static func numbers(
    _ json: JSONValue, _ name: String, count: Int, stride: Int = 1
  ) throws(JSONError) -> [Int64] {
    guard let text = json[name]?.string else { throw JSONError("key \"\(name)\": missing or not a string") }
    var decoder = DeltaDecoder(text)
    var numbers: [Int64] = []
    while !decoder.isAtEnd, numbers.count < count {
      guard let difference = decoder.difference() else {
        throw JSONError("key \"\(name)\": invalid encoding")
      }
      numbers.append(numbers.count < stride ? difference : numbers[numbers.count - stride] &+ difference)
    }
    guard decoder.isAtEnd, numbers.count == count else {
      throw JSONError(
        "key \"\(name)\": does not contain \(count / stride) values, "
          + "although \"count\" is \(count / stride)")
    }
    return numbers
  }
}

extension Int64 {
  fileprivate var flooredMilliseconds: Int64 {
    let (quotient, rest) = quotientAndRemainder(dividingBy: 1_000_000)
    return rest < 0 ? quotient - 1 : quotient
  }
}
