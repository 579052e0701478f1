import Fleet
import FleetProgram
import Foundation
import Platform
import TestSupport
import Testing

/// Destinations of `--output` on a real disk: files, devices, pipes and links.
@Suite struct OutputFileTests {
  private let folder: TemporaryDirectory

  init() throws { folder = try TemporaryDirectory() }

  private func write(
    _ text: String, to path: String, replaces: Bool = false, inputs: [String] = [],
    shouldContinue: () -> Bool = { true }
  ) throws {
    var output = try OutputFile(
      path: path, replaces: replaces, inputs: inputs, shouldContinue: shouldContinue)
    _ = try output.write(Array(text.utf8), shouldContinue: shouldContinue)
    try output.finish()
  }

  private func text(_ path: String) throws -> String { try String(contentsOfFile: path, encoding: .utf8) }

  private func mode(_ path: String) throws -> Int {
    let value = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions]
    return try #require(value as? Int)
  }

  /// Returns the error of a refused output; existing files are unchanged, and no temporary file is left.
  private func refusal(_ path: String, replaces: Bool = false, inputs: [String] = []) throws -> String {
    let before = try FileManager.default.contentsOfDirectory(atPath: folder.path)
    let error = #expect(throws: FleetError.self) {
      try write("new", to: path, replaces: replaces, inputs: inputs)
    }
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == before)
    return "\(try #require(error))"
  }

  @Test func aFileAppearsWhenItIsComplete() throws {
    let path = folder.file("a.csv")
    do {
      let output = try OutputFile(path: path, replaces: false)
      _ = try output.write(Array("half".utf8))
      // The file has no name yet, so that a killed command leaves nothing.
      let leavesNothing = output.leavesNothing
      #expect(leavesNothing)
      #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty)
    }
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty)
    try write("whole", to: path)
    #expect(try text(path) == "whole")
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["a.csv"])
  }

  @Test func filesAreReplacedOnlyOnRequestAndTheirModeStays() throws {
    let path = folder.file("a.csv")
    try "old".write(toFile: path, atomically: false, encoding: .utf8)
    #expect(chmod(path, 0o640) == 0)
    #expect(try refusal(path).contains("--force"))
    #expect(try text(path) == "old")
    try write("new", to: path, replaces: true)
    #expect(try text(path) == "new")
    #expect(try mode(path) == 0o640)
  }

  /// A file that another program creates meanwhile is only replaced on request, whatever the file system supports.
  @Test func filesCreatedMeanwhileStay() throws {
    let path = folder.file("a.csv")
    func race(replaces: Bool) throws {
      try? FileManager.default.removeItem(atPath: path)
      var output = try OutputFile(path: path, replaces: replaces)
      _ = try output.write(Array("ours".utf8))
      try "theirs".write(toFile: path, atomically: false, encoding: .utf8)
      try output.finish()
    }
    let error = try #require(#expect(throws: FleetError.self) { try race(replaces: false) })
    #expect("\(error)".contains("another program has created it") && "\(error)".contains("--force"))
    #expect(error.kind == .outputFailed)
    #expect(try text(path) == "theirs")
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["a.csv"])
    try race(replaces: true)
    #expect(try text(path) == "ours")
  }

  @Test(arguments: ["target.csv", "below/../target.csv", "absolute"])
  func aLinkStaysAndItsTargetIsReplaced(destination: String) throws {
    let (link, target) = (folder.file("link.csv"), folder.file("target.csv"))
    #expect(mkdir(folder.file("below"), 0o755) == 0)
    #expect(symlink(destination == "absolute" ? target : destination, link) == 0)
    // The missing target of a link is created.
    try write("one", to: link)
    #expect(try text(target) == "one")
    try write("two", to: link, replaces: true)
    #expect(try text(target) == "two")
    #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link).hasSuffix("target.csv"))
  }

  @Test func aLinkToItselfIsAnError() throws {
    #expect(symlink("loop", folder.file("loop")) == 0)
    _ = try refusal(folder.file("loop"))
  }

  /// An input is not overwritten, under any of its names.
  @Test func inputsAreNeverOverwritten() throws {
    let (store, log) = (folder.file("fleet.sqlite"), folder.file("fleet.sqlite-wal"))
    for path in [store, log] { try "rows".write(toFile: path, atomically: false, encoding: .utf8) }
    #expect(link(store, folder.file("hard")) == 0 && symlink(log, folder.file("soft")) == 0)
    for path in [store, log, folder.file("hard"), folder.file("soft"), folder.path + "/./fleet.sqlite"] {
      #expect(
        try refusal(path, replaces: true, inputs: [store, log]).contains("the command reads this file"))
    }
    #expect(try text(store) == "rows" && text(log) == "rows")
  }

  @Test func foldersAndMissingFoldersAreErrors() throws {
    #expect(try refusal(folder.path, replaces: true).contains("it is a folder"))
    #expect(try refusal(folder.file("none/a.csv")).contains("check the folder"))
    #expect(try refusal(folder.file("none/")).contains("names no file"))
  }

  @Test func devicesStayDevices() throws {
    try write("gone", to: "/dev/null")
    var status = stat()
    #expect(stat("/dev/null", &status) == 0 && status.st_mode & S_IFMT == S_IFCHR)
    let error = #expect(throws: FleetError.self) { try write("too much", to: "/dev/full") }
    #expect(try #require(error).cause.contains("No space left"))
  }

  /// A path that is the pipe of another process, as in `>(…)` of a shell.
  @Test func aPipeByItsDescriptorIsWritten() throws {
    var ends: [Int32] = [0, 0]
    #expect(pipe(&ends) == 0)
    defer { for end in ends { close(end) } }
    try write("through", to: "/dev/fd/\(ends[1])")
    var buffer = [UInt8](repeating: 0, count: 100)
    #expect(read(ends[0], &buffer, buffer.count) == 7)
  }

  @Test func aPipeWaitsForItsReaderUntilStopped() throws {
    let path = folder.file("pipe")
    #expect(mkfifo(path, 0o600) == 0)
    var questions = 0
    #expect(throws: FleetError.self) {
      try write("x", to: path) {
        questions += 1
        return questions < 3
      }
    }
    // More than the buffer of a pipe.
    let long = String(repeating: "0123456789", count: 20_000)
    let reader = try ChildProcess("cat", [path], output: folder.file("read"))
    try write(long, to: path)
    #expect(reader.waitForExit() == 0)
    #expect(try text(folder.file("read")) == long)
  }

  /// A reader that does not read does not delay the exit.
  @Test func aStuckReaderIsAbandoned() throws {
    let path = folder.file("pipe")
    #expect(mkfifo(path, 0o600) == 0)
    let reader = open(path, O_RDONLY | O_NONBLOCK)
    defer { close(reader) }
    let output = try OutputFile(path: path, replaces: false)
    var questions = 0
    let shouldContinue = try output.write([UInt8](repeating: 0x61, count: 1 << 20)) {
      questions += 1
      return questions < 3
    }
    #expect(!shouldContinue && questions == 3 && !output.leavesNothing)
  }
}
