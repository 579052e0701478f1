import Foundation
import Sensors
import SensorsGPSD
import TestSupport
import Testing

/// The receiver that power is measured with: what gpsd's log says of watches is what happened.
@Suite(.serialized, .needs(.gpsd)) struct LiveReceiverTests {
  @Test(.timeLimit(.minutes(2))) func aWatchIsInTheLogForAsLongAsItLasted() async throws {
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
}
