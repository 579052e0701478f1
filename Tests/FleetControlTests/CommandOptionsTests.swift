import ArgumentParser
import FleetConsole
import FleetControl
import Testing

/// Which options belong to which command; nothing is sent for those that make no sense.
@Suite struct CommandOptionsTests {
  /// The error of a command whose broker is not there.
  private func error(_ arguments: String...) throws -> String {
    let options = try CommandOptions.parse(
      arguments + ["--broker", "mqtt://127.0.0.1:1", "--fleet", "test", "--vehicle", "van"])
    do {
      return "\(try CommandCommand.run(options) { place, _ in RecordedBeginning(name: place) })"
    } catch {
      return "\(error)"
    }
  }

  @Test(arguments: ["zero", "level"]) func clearBelongsToThose(command: String) throws {
    #expect(try !error(command, "--clear").contains("--clear"))
  }

  @Test(arguments: CommandOptions.names.filter { $0 != "zero" && $0 != "level" })
  func andToNoOther(command: String) throws {
    #expect(try error(command, "--clear", "--yes").contains("it belongs to zero and level"))
  }

  @Test func anOdometerIsSetToWhatSomebodyHasRead() throws {
    #expect(try error("set-odometer").contains("as in --km 48213.4"))
    #expect(try error("set-odometer", "--km", "10000001").contains("give 0 to 10000000"))
    #expect(try error("locate", "--km", "3").contains("it belongs to set-odometer"))
    #expect(try !error("set-odometer", "--km", "48213.4").contains("--km"))
  }
}
