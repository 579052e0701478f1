import LiveSensors
import Sensors
import Spatial
import TestSupport
import Testing

/// Positions of a pulled recording that are replaced while it is read.
@Suite struct RelocationTests {
  private let scratch: ScratchFolder
  private static let home = Coordinate(latitude: 48, longitude: 11)

  init() throws { scratch = try ScratchFolder() }

  private func recording(
    _ input: SensorInput.Recording, _ location: SimulatedLocation
  ) throws -> any SensorRecording {
    guard case .recorded(let recording) = try SensorFeed(.recording(input), speed: nil, location: location)
    else { throw Unexpected() }
    return recording
  }

  private struct Unexpected: Error {}

  private static func fix(_ event: SensorEvent?) -> PositionFix? {
    if case .position(let fixes)? = event { fixes.first } else { nil }
  }

  @Test func placeTrackNoneAndBack() throws {
    let location = SimulatedLocation()
    var recording = try recording(SensorInput.Recording(place: Self.home, duration: 20), location)
    let points = (0..<3).map { "<trkpt lat=\"\(50 + $0)\" lon=\"8\"></trkpt>" }.joined()
    let track = try scratch.write(
      "<gpx version=\"1.1\" creator=\"t\"><trk><trkseg>\(points)</trkseg></trk></gpx>", to: "a.gpx")
    var latitudes: [Double?] = []
    for second in 0..<20 {
      switch second {
      case 2: try location.select(.place(Coordinate(latitude: 47, longitude: 8)))
      case 4: try location.select(.none)
      case 6: try location.select(.track(path: track))
      case 11: try location.select(.input)
      default: break
      }
      let fix = try #require(Self.fix(try recording.next()))
      #expect(fix.timestamp == Timestamp(seconds: Double(second)))
      latitudes.append(fix.coordinate?.latitude)
    }
    #expect(try recording.next() == nil)
    // After its end, a track holds its last position.
    #expect(latitudes.prefix(13) == [48, 48, 47, 47, nil, nil, 50, 51, 52, 52, 52, 48, 48])
  }

  /// An unreadable track does not change the position.
  @Test func unreadableTrackIsRejected() throws {
    let location = SimulatedLocation()
    var recording = try recording(SensorInput.Recording(place: Self.home), location)
    #expect(throws: (any Error).self) { try location.select(.track(path: "/nonexistent.gpx")) }
    #expect(Self.fix(try recording.next())?.coordinate == Self.home)
  }

  /// Motion sensors deliver no samples while the position is simulated, and the recording still ends with its samples.
  @Test func motionSensorsAreSilentMeanwhile() throws {
    let rows = (0..<500).map { "\(Double($0) / 50),0,0,9.81" }.joined(separator: "\n")
    let sensors = try scratch.write("t,ax,ay,az\n" + rows + "\n", to: "a.csv")
    for isRelocated in [false, true] {
      let location = SimulatedLocation()
      var recording = try recording(SensorInput.Recording(sensors: sensors, place: Self.home), location)
      if isRelocated { try location.select(.none) }
      recording.setDemand(.off, for: .positioning)
      var (events, samples) = (0, 0)
      while let event = try recording.next() {
        events += 1
        samples += event.count(of: .accelerometer)
      }
      #expect(samples == (isRelocated ? 0 : 500) && events >= 90, "\(events)")
    }
  }
}
