import Fleet
import FleetProgram
import Glibc
import TestSupport
import Testing

struct LineInputTests {
  private let directory: TemporaryDirectory

  init() throws { directory = try TemporaryDirectory() }

  @Test func linesOfAnyLengthAreReadInOrder() throws {
    let long = String(repeating: "x", count: 200_000)
    var input = try LineInput(try directory.write("lines", "a\n\n\(long)\nlast"))
    var lines: [Int] = []
    while let line = try input.next(while: { true }) { lines.append(line.count) }
    #expect(lines == [1, 0, 200_000, 4])
    var empty = try LineInput(try directory.write("empty", ""))
    #expect(try empty.next(while: { true }) == nil)
    #expect(throws: FleetError.self) { _ = try LineInput(directory.file("nowhere")) }
  }

  /// A read from a pipe without data still checks whether to continue.
  @Test func aQuietPipeDoesNotBlock() throws {
    let path = directory.file("pipe")
    #expect(unsafe mkfifo(path, 0o600) == 0)
    var input = try LineInput(path)
    var looks = 0
    #expect(
      try input.next(while: {
        looks += 1
        return looks < 3
      }) == nil)
    #expect(looks == 3)
  }
}
