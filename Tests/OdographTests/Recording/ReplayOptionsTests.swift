import ArgumentParser
import Fleet
import Testing

@testable import odograph

@Suite struct ReplayOptionsTests {
  @Test func invalidSpeedsAndFleetsAreRejected() throws {
    for speed in ["0", "-1", "fast", "nan", "1e9"] {
      let options = try ReplayOptions.parse(["--speed", speed])
      #expect(throws: FleetError.self, "\(speed)") { try options.speed() }
    }
    let fastest = try ReplayOptions.parse(["--speed", "max"])
    #expect(try fastest.speed() == nil)
    let wrong = try ReplayOptions.parse(["--to-fleet", "a/b"])
    #expect(throws: FleetError.self) { try wrong.check() }
  }
}
