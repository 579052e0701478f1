import LiveSensors
import Motion
import Platform
import Positioning
import Recordings
import Sensors
import Spatial
import TestSupport
import Testing

/// Positions from radios on a live device.
@Suite(.timeLimit(.minutes(1))) struct LiveRadioTests {
  private let scratch: ScratchFolder
  private static let town = Coordinate(latitude: 48, longitude: 11)

  init() throws { scratch = try ScratchFolder() }

  private static func beacons() throws -> [Beacon] {
    try (0..<5).map { try #require(Beacon(accessPoint: 0x0011_2200_0000 + UInt64($0))) }
  }

  /// Writes a map file of five access points in the format of `odograph beacons build`.
  private func map() throws -> String {
    var text = "beacon,latitude,longitude,reach,sightings,vehicles,last_seen,source\n"
    for (number, beacon) in try Self.beacons().enumerated() {
      text += "\(beacon.text),48.000000,\(11 + 2e-4 * Double(number - 2)),50,100,3,20778,fleet\n"
    }
    return try scratch.write(text, to: "beacons.csv")
  }

  private func scan() throws -> SensorEvent {
    let sightings = try Self.beacons().map { BeaconSighting(beacon: $0, signal: -78) }
    return .radio([
      RadioScan(
        timestamp: .now, sightings: sightings, kind: .wifi)
    ])
  }

  /// The radio scans until the first position. Then radio and receiver sleep.
  @Test func radiosGiveTheFirstPosition() async throws {
    let source = TestSource([.wifi, .positioning])
    let device = LiveDevice(sources: [source], beacons: try BeaconTable(path: try map()))
    let updates = device.location.liveUpdates(LocationManager(desiredAccuracy: .threeKilometers))
    try device.start()
    try await eventually { source.demand(.wifi).isOn }
    source.push(try scan())
    var iterator = updates.makeAsyncIterator()
    let location = try #require(await iterator.next()?.location)
    #expect(location.positionSource == .coarse && location.time != nil)
    #expect(location.coordinate.distance(to: Self.town) < 50)
    try await eventually { !source.demand(.wifi).isOn && !source.demand(.positioning).isOn }
    device.stop()
  }

  /// A position from radios answers a request for which it is accurate enough.
  @Test func radiosAnswerACoarseRequest() async throws {
    let source = TestSource([.wifi, .positioning])
    let device = LiveDevice(sources: [source], beacons: try BeaconTable(path: try map()))
    try device.start()
    async let answer = device.location.requestLocation(accuracy: 1000, timeLimit: 30)
    try await eventually { source.demand(.wifi).isOn }
    source.push(try scan())
    #expect(try await answer.positionSource == .coarse)
    try await eventually { !source.demand(.wifi).isOn && !source.demand(.positioning).isOn }
    device.stop()
  }

  @Test func invalidMapFilesNameTheLine() throws {
    func line(of text: String) throws -> Int? {
      let path = try scratch.write(text, to: "invalid.csv")
      do {
        _ = try BeaconTable(path: path)
        return nil
      } catch { return error.line }
    }
    let head = "beacon,latitude,longitude,reach,sightings,vehicles,last_seen\n"
    #expect(try line(of: head) == nil)
    #expect(try line(of: "") == 1)
    #expect(try line(of: "beacon,latitude\n") == 1)
    let valid = "00:11:22:00:00:00,48,11,50,1,1,20778\n"
    #expect(try line(of: head + valid) == nil)
    #expect(try line(of: head + valid + "00:11:22:00:00:00,91,11,50,1,1,0\n") == 3)
    #expect(throws: RecordingError.self) { try BeaconTable(path: "/nonexistent.csv") }
  }
}
