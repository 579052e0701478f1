import ArgumentParser
import FleetCommand
import Testing

@testable import odograph

/// The options of each vehicle command; invalid ones are rejected before a request is sent.
@Suite struct CommandOptionsTests {
  /// Returns the error of a command whose broker is unreachable.
  private func error(_ arguments: String...) throws -> String {
    let options = try Command.parse(
      arguments + ["--broker", "mqtt://127.0.0.1:1", "--fleet", "test", "--vehicle", "van"])
    do {
      return "\(try CommandCommand.run(options))"
    } catch {
      return "\(error)"
    }
  }

  /// A receiver searches for up to 35 s after a cold start, and the vehicle answers one second before its timeout.
  @Test func locateWaitsForAColdStart() throws {
    #expect(try Command.parse(["locate"]).effectiveTimeout >= 40)
    #expect(try Command.parse(["status"]).effectiveTimeout == 30)
    #expect(try Command.parse(["locate", "--timeout", "5"]).effectiveTimeout == 5)
  }

  private static let clearable = ["zero", "level", "simulate-location"]

  @Test(arguments: clearable) func clearIsAcceptedByTheseCommands(command: String) throws {
    #expect(try !error(command, "--clear").contains("--clear"))
  }

  @Test(arguments: Command.names.filter { !clearable.contains($0) })
  func clearIsRejectedByOtherCommands(command: String) throws {
    #expect(
      try error(command, "--clear", "--yes").contains("it belongs to zero, level and simulate-location"))
  }

  @Test func recordAndSimulateLocationRequireTheirArguments() throws {
    #expect(try error("record").contains("for example --seconds 60"))
    #expect(try !error("record", "--seconds", "60").contains("--seconds"))
    #expect(try error("simulate-location").contains("--at LATITUDE,LONGITUDE"))
    for text in ["48.1", "48.1,x", "48.1,11.5,3", ""] {
      #expect(try error("simulate-location", "--at", text).contains("set latitude and longitude"), "\(text)")
    }
    #expect(try error("simulate-location", "--at", "91,0").contains("give -90 to 90"))
    #expect(try !error("simulate-location", "--at", "48.1372,11.5756").contains("--at"))
    #expect(try !error("simulate-location", "--track", "a.gpx").contains("--track"))
    #expect(try !error("simulate-location", "--none").contains("--none"))
  }

  @Test func setOdometerChecksItsReading() throws {
    #expect(try error("set-odometer").contains("for example --km 48213.4"))
    #expect(try error("set-odometer", "--km", "10000001").contains("give 0 to 10000000"))
    #expect(try error("locate", "--km", "3").contains("it belongs to set-odometer"))
    #expect(try !error("set-odometer", "--km", "48213.4").contains("--km"))
  }
}
