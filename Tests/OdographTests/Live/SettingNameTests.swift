import ArgumentParser
import Fleet
import FleetCommand
import FleetManagement
import FleetStore
import Spatial
import Testing

@testable import odograph

/// Libraries name settings in words; a command's errors name the options.
@Suite struct SettingNameTests {
  private func text(_ work: () throws -> Void) throws -> String {
    try #require(throws: FleetError.self) { try work() }.commandText
  }

  @Test func errorsOfLibrariesNameTheOption() throws {
    let simulate = try Simulate.parse(["--live-rate", "300"])
    #expect(
      try text { _ = try SimulatedFleet(simulate.fleetConfiguration(), start: UTCTime(nanoseconds: 0)) }
        == "cannot use --live-rate 300.0: must be 0.0 to 100.0")
    let export = try Export.parse(["--from", "yesterday"])
    #expect(
      try text { _ = try export.part.selection() }.hasPrefix("cannot use --from yesterday: write a time"))
    let broker = ["--broker", "mqtt://127.0.0.1:1", "--root", "a/#"]
    #expect(
      try text { _ = try Tail.parse(broker).request() }.hasPrefix("cannot use --root \"a/#\": "))
    #expect(
      try text { _ = try Record.parse(["--keep", "90"]).keptDays() }
        == "cannot use --keep 90: write days as 90d, 1d to 36500d")
  }

  @Test func anotherFileNameCanBeReplacedByAnOption() throws {
    for work in [
      { _ = try Export.parse(["-o", "a.xyz"]).format() },
      { _ = try JournalOptions.parse(["-o", "a.xyz"]).format() },
      { _ = try TraceOutputArguments.parse(["-o", "a.xyz"]).form() },
    ] as [() throws -> Void] {
      #expect(try text(work).hasSuffix(", or use --format"))
    }
  }

  @Test func otherErrorsAreUnchanged() {
    let error = FleetError.usage("read", "live rate", "it is empty")
    #expect(
      error.commandText == error.description && error.commandText == "cannot read live rate: it is empty")
  }
}
