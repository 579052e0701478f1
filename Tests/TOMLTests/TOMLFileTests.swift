import Foundation
import TOML
import Testing

@Suite struct TOMLFileTests {
  private func problem(reading path: String) -> String {
    do {
      return "read \(try TOMLFile.read(path).utf8.count) bytes"
    } catch {
      #expect(error.file == path)
      #expect(error.kind == (path.hasPrefix("/nonexistent") ? .missing : .unreadable))
      return error.problem
    }
  }

  private func temporary(_ bytes: [UInt8]) throws -> String {
    let path = NSTemporaryDirectory() + "odograph-\(UUID().uuidString).toml"
    try Data(bytes).write(to: URL(filePath: path))
    return path
  }

  @Test func refusesBinaryFiles() throws {
    #expect(problem(reading: try temporary([])) == "read 0 bytes")
    #expect(problem(reading: try temporary([0x7F, 0x45, 0x4C, 0x46, 0, 1])).hasPrefix("is not UTF-8 text"))
    #expect(problem(reading: try temporary([0xFF, 0xFE, 0x41])).hasPrefix("is not UTF-8 text"))
    #expect(problem(reading: "/nonexistent/odograph.toml") == "cannot be read: No such file or directory")
    #expect(problem(reading: NSTemporaryDirectory()).hasPrefix("is a directory"))
    // Endless, with a stated size of 0 bytes.
    #expect(problem(reading: "/dev/zero").hasPrefix("has more than"))
  }

  @Test func refusesAFileOfAGigabyteWithoutReadingIt() throws {
    let path = try temporary([])
    let handle = try FileHandle(forWritingTo: URL(filePath: path))
    try handle.truncate(atOffset: 1 << 30)
    #expect(problem(reading: path) == "is 1073741824 bytes; at most 1048576 are read")
  }
}
