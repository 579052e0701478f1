import Foundation
import Platform
import Sensors
import SensorsGPSD
import Spatial
import TestSupport
import Testing

/// The simulated receiver of the power measurements: the watches in gpsd's log have their real durations.
@Suite(.serialized, .needs(.gpsd)) struct LiveReceiverTests {
  @Test(.timeLimit(.minutes(2))) func logHasTheDurationOfAWatch() async throws {
    let receiver = try LiveReceiver(at: .init(latitude: 48, longitude: 11, speed: 0, course: 0))
    let listener = GPSDListener()
    let source = try GPSDSource(GPSDAddress(port: receiver.port))
    try source.start(listener.sink)
    let begin = Date().timeIntervalSince1970
    source.setDemand(.rate(hertz: 1, latency: .seconds(1)), for: .positioning)
    try await eventually { listener.fixes.count { $0.coordinate != nil } >= 3 }
    source.setDemand(.off, for: .positioning)
    let end = Date().timeIntervalSince1970
    try await eventually { receiver.isUnwatched }
    let watched = receiver.watched(from: begin, to: end + 100)
    #expect(watched.times == 1 && watched.seconds > 1)
    #expect(receiver.watched(from: begin - 100, to: begin).seconds == 0)
    source.stop()
    receiver.stop()
  }

  /// With `assists`, a u-blox receiver without a fix gets the approximate position through gpsd; otherwise it gets none.
  @Test(.timeLimit(.minutes(3)), arguments: [true, false])
  func receiverWithoutAFixGetsThePosition(assists: Bool) async throws {
    var epoch = LiveReceiver.Epoch(latitude: 48, longitude: 11, speed: 0, course: 0)
    epoch.hasFix = false
    let receiver = try LiveReceiver(at: epoch, language: .ubx)
    let listener = GPSDListener()
    let source = try GPSDSource(GPSDAddress(port: receiver.port), assists: assists)
    try source.start(listener.sink)
    source.setDemand(.rate(hertz: 1, latency: .seconds(1)), for: .positioning)
    try await eventually { listener.fixes.count >= 2 }
    source.assist(
      PositionAid(
        timestamp: .now,
        coordinate: Coordinate(latitude: 48.1351234, longitude: -11.5820001), horizontalAccuracy: 80))
    let frame: [UInt8] = [
      0xB5, 0x62, 0x13, 0x40, 20, 0, 1, 0, 0, 0, 0x42, 0xD6, 0xB0, 0x1C, 0x1F, 0xBA, 0x18, 0xF9, 0, 0, 0, 0,
      0x40, 0x0D, 3, 0, 0x86, 0x5A,
    ]
    if assists { try await eventually { receiver.hasHeard(frame) } }
    let count = listener.fixes.count
    try await eventually { listener.fixes.count > count + 1 }
    #expect(receiver.hasHeard(frame) == assists)
    source.stop()
    receiver.stop()
  }
}
