import Foundation
import Platform
import Testing

@testable import AgentCore

@Suite struct ConfigurationFileTests {
  private func problem(reading path: String) -> String {
    do {
      return "read \(try ConfigurationFile.read(path).utf8.count) bytes"
    } catch {
      return error.problem
    }
  }

  private func temporary(_ bytes: [UInt8]) throws -> String {
    let path = NSTemporaryDirectory() + "odograph-\(UUID().uuidString).toml"
    try Data(bytes).write(to: URL(filePath: path))
    return path
  }

  @Test func refusesWhatIsNoConfiguration() throws {
    #expect(problem(reading: try temporary([])).hasPrefix("is empty"))
    #expect(problem(reading: try temporary([0x7F, 0x45, 0x4C, 0x46, 0, 1])).hasPrefix("is not UTF-8 text"))
    #expect(problem(reading: try temporary([0xFF, 0xFE, 0x41])).hasPrefix("is not UTF-8 text"))
    #expect(problem(reading: "/nonexistent/odograph.toml") == "cannot be read: No such file or directory")
    #expect(problem(reading: NSTemporaryDirectory()).hasPrefix("is a directory"))
    // Endless, and says that it has no bytes.
    #expect(problem(reading: "/dev/zero").hasPrefix("has more than"))
  }

  @Test func refusesAFileOfAGigabyteWithoutReadingIt() throws {
    let path = try temporary([])
    let handle = try FileHandle(forWritingTo: URL(filePath: path))
    try handle.truncate(atOffset: 1 << 30)
    #expect(problem(reading: path) == "is 1073741824 bytes; a configuration has at most 1048576")
  }

  @Test func randomTextNeverTraps() {
    let seed = UInt64.random(in: 0 ... .max)
    print("seed \(seed)")
    var state = seed
    let alphabet = Array("[]{}=\".,#abcvehicleidgpsdport0123456789-+eE\n\n\n '\\\u{e9}")
    for _ in 0..<20_000 {
      var text = ""
      for _ in 0..<40 {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        text.append(alphabet[Int(state >> 33) % alphabet.count])
      }
      _ = try? ConfigurationLayer(toml: text, name: "fuzz")
    }
  }

  /// What the parser would answer with the end of the process.
  @Test(
    arguments: [
      ("[,\n", 1), ("a = 1\n[ ]x", nil), ("a = ,", 1), ("a =\n", 1), ("a = # none", 1), ("a = ]", 1),
      ("\na=[1,}", 2),
      ("a = [ }", 1), ("a = { b = }", 1), ("a = '''\n\n''' \nb = ,", 4), (#"a = "x = ,""#, nil),
      ("# a = ,", nil),
      ("a = {}\nb = []\nc = [\n1,\n]", nil), ("a = \"\\\"\"\nb = }", 2),
    ] as [(String, Int?)])
  func findsWhatTheParserWouldNotSurvive(text: String, line: Int?) {
    #expect(TOMLSyntax.fatalProblem(in: text)?.line == line)
    _ = try? ConfigurationLayer(toml: text, name: "test")
  }
}
