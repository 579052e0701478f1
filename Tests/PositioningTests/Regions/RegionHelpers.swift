import Positioning
import Spatial

/// A fix in a table: seconds, metres east and north, accuracy in m, speed in m/s.
struct Line {
  var seconds, east, north, accuracy: Double
  var speed: Double?

  init(_ seconds: Double, _ east: Double, _ north: Double = 0, accuracy: Double = 3, speed: Double? = nil) {
    (self.seconds, self.east, self.north, self.accuracy, self.speed) = (seconds, east, north, accuracy, speed)
  }
}

extension PlaneTrack {
  /// UTC at second zero.
  static let start = UTCTime(nanoseconds: 1_795_248_000_000_000_000)

  func location(_ line: Line) -> Location {
    var location = location(line.seconds, line.east, line.north, speed: line.speed)
    location.horizontalAccuracy = line.accuracy
    location.time = Self.start.advanced(bySeconds: line.seconds)
    return location
  }

  func place(_ east: Double, _ north: Double) -> Coordinate {
    LocalFrame(origin: origin).coordinate(at: SIMD2(east, north))
  }

  /// A rectangle with sides east-west and north-south.
  func rectangle(_ east: ClosedRange<Double>, _ north: ClosedRange<Double> = -200...200) -> [Coordinate] {
    [
      (east.lowerBound, north.lowerBound), (east.upperBound, north.lowerBound),
      (east.upperBound, north.upperBound), (east.lowerBound, north.upperBound),
    ]
    .map { place($0.0, $0.1) }
  }
}

/// A monitor's event as text, for tables.
struct Entry: Equatable, CustomStringConvertible {
  var text: String

  init(_ event: RegionEvent, digits: Double = 1) {
    let seconds = (event.timestamp.seconds * digits).rounded() / digits
    text = "\(event.kind) \(event.identifier) \(seconds)" + (event.isLate ? " late" : "")
  }

  var description: String { text }
}

extension RegionMonitor {
  mutating func run(_ plane: PlaneTrack, _ lines: [Line]) -> [String] {
    lines.flatMap { process(plane.location($0)) }.map { Entry($0, digits: 10).text }
  }
}

/// Fixes, one per second, of a drive at constant speed along a line to the east or west.
func drive(
  from east: Double, to end: Double, speed: Double, at start: Double = 0, north: Double = 0,
  accuracy: Double = 3
) -> [Line] {
  let count = Int((abs(end - east) / speed).rounded())
  let sign = end > east ? 1.0 : -1
  return (0...count).map {
    Line(start + Double($0), east + sign * speed * Double($0), north, accuracy: accuracy, speed: speed)
  }
}

func parked(at east: Double, _ seconds: ClosedRange<Int>, accuracy: Double = 3) -> [Line] {
  seconds.map { Line(Double($0), east, accuracy: accuracy, speed: 0) }
}
