import ArgumentParser
import Fleet
import Testing

@testable import odograph

@Suite struct ReplayOptionsTests {
  @Test func invalidSpeedsAndFleetsAreRejected() throws {
    for speed in ["0", "-1", "fast", "nan", "1e9"] {
      let options = try Replay.parse(["--speed", speed])
      #expect(throws: FleetError.self, "\(speed)") { try options.speed() }
    }
    let fastest = try Replay.parse(["--speed", "max"])
    #expect(try fastest.speed() == nil)
    let wrong = try Replay.parse(["--to-fleet", "a/b"])
    #expect(throws: FleetError.self) { try wrong.check() }
  }
}
