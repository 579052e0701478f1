import Fleet
import FleetProgram
import Foundation
import TestSupport
import Testing

/// Folders of files as output, on a real disk.
@Suite struct OutputFolderTests {
  private let folder: TemporaryDirectory

  init() throws { folder = try TemporaryDirectory() }

  private func write(_ text: String, to path: String, replaces: Bool = false, inputs: [String] = []) throws {
    var output = try OutputFolder(path: path, replaces: replaces, inputs: inputs) {
      $0.hasSuffix(".part-file")
    }
    for day in ["a", "b"] {
      try text.write(toFile: output.file("x.part-file", in: "day=\(day)"), atomically: false, encoding: .utf8)
    }
    try output.finish()
  }

  private func text(_ path: String) throws -> String { try String(contentsOfFile: path, encoding: .utf8) }

  /// Returns all paths in the test's folder.
  private func tree() throws -> [String] {
    try FileManager.default.subpathsOfDirectory(atPath: folder.path).sorted()
  }

  /// Returns the error of a refused output; existing files are unchanged.
  private func refusal(_ path: String, replaces: Bool = true, inputs: [String] = []) throws -> String {
    let before = try tree()
    let error = #expect(throws: FleetError.self) {
      try write("new", to: path, replaces: replaces, inputs: inputs)
    }
    #expect(try tree() == before)
    return "\(try #require(error))"
  }

  private static let whole = [
    "out", "out/day=a", "out/day=a/x.part-file", "out/day=b", "out/day=b/x.part-file",
  ]

  @Test func aFolderAppearsWhenItIsComplete() throws {
    do {
      var output = try OutputFolder(path: folder.file("out"), replaces: false, inputs: []) { _ in true }
      try "half".write(toFile: output.file("x", in: "day=a"), atomically: false, encoding: .utf8)
      #expect(!FileManager.default.fileExists(atPath: folder.file("out")))
    }
    #expect(try tree().isEmpty)
    try write("whole", to: folder.file("out") + "/")
    #expect(try tree() == Self.whole)
    // An existing empty folder is used.
    #expect(mkdir(folder.file("empty"), 0o750) == 0)
    try write("whole", to: folder.file("empty"))
    #expect(try text(folder.file("empty/day=a/x.part-file")) == "whole")
    var status = stat()
    #expect(stat(folder.file("empty"), &status) == 0 && status.st_mode & 0o777 == 0o750)
  }

  @Test func foldersAreReplacedOnlyOnRequest() throws {
    let path = folder.file("out")
    try write("old", to: path)
    #expect(try refusal(path, replaces: false).contains("--force"))
    #expect(symlink("out", folder.file("link")) == 0)
    try write("new", to: folder.file("link"), replaces: true)
    #expect(try text(folder.file("out/day=b/x.part-file")) == "new")
    #expect(try tree() == ["link"] + Self.whole)
  }

  /// The temporary folder of a killed command is removed by the next command, but not that of a running command.
  @Test func foldersOfKilledCommandsAreRemoved() throws {
    let child = try ChildProcess("true", [])
    #expect(child.waitForExit() == 0)
    let others = [
      ".out.\(child.processID).part", ".out.1.part", ".out.x.part", ".other.\(child.processID).part",
    ]
    for name in others {
      try FileManager.default.createDirectory(
        atPath: folder.file("\(name)/day=a"), withIntermediateDirectories: true)
      try folder.write("\(name)/day=a/x", "")
    }
    try write("new", to: folder.file("out"))
    #expect(
      try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
        == (others.dropFirst() + ["out"]).sorted())
  }

  /// Only files of an export are removed: no other files, and no targets of links.
  @Test func otherFilesAreNotRemoved() throws {
    let path = folder.file("out")
    try write("old", to: path)
    let stranger = folder.file("out/notes.txt")
    try "mine".write(toFile: stranger, atomically: false, encoding: .utf8)
    #expect(try refusal(path).contains("contains notes.txt"))
    #expect(unlink(stranger) == 0)
    let within = folder.file("out/day=a/notes.txt")
    try "mine".write(toFile: within, atomically: false, encoding: .utf8)
    #expect(try refusal(path).contains("contains day=a"))
    #expect(unlink(within) == 0)
    try write("elsewhere", to: folder.file("other"))
    #expect(symlink(folder.file("other/day=a"), folder.file("out/day=c")) == 0)
    #expect(try refusal(path).contains("contains day=c"))
    #expect(try text(folder.file("other/day=a/x.part-file")) == "elsewhere")
  }

  @Test func inputsAreNeverOverwritten() throws {
    let path = folder.file("out")
    try write("old", to: path)
    #expect(link(folder.file("out/day=a/x.part-file"), folder.file("store")) == 0)
    #expect(try refusal(path, inputs: [folder.file("store")]).contains("the command reads"))
  }

  /// Partitions replace those of the same name. Other files stay, also if a partition cannot be replaced.
  @Test func partitionsAreAddedToAFolder() throws {
    func update(_ text: String, _ partitions: [String]) throws {
      var output = try OutputFolder(path: folder.file("out"), replaces: false, updates: true, inputs: []) {
        $0.hasSuffix(".part-file")
      }
      for partition in partitions {
        try text.write(toFile: output.file("x.part-file", in: partition), atomically: false, encoding: .utf8)
      }
      try output.finish()
    }
    func texts() throws -> [String: String] {
      let files = try tree().filter { $0.hasSuffix(".part-file") || $0.hasSuffix(".txt") }
      return Dictionary(uniqueKeysWithValues: try files.map { ($0, try text(folder.file($0))) })
    }
    try update("one", ["day=a/fleet=1", "day=a/fleet=2"])
    try "mine".write(toFile: folder.file("out/notes.txt"), atomically: false, encoding: .utf8)
    try update("two", ["day=a/fleet=2", "day=b/fleet=1"])
    let wanted = [
      "out/day=a/fleet=1/x.part-file": "one", "out/day=a/fleet=2/x.part-file": "two",
      "out/day=b/fleet=1/x.part-file": "two", "out/notes.txt": "mine",
    ]
    #expect(try texts() == wanted)
    #expect(try tree().allSatisfy { $0 == "out" || $0.hasPrefix("out/") })
    // A third-party file in one partition prevents the whole update.
    try "mine".write(toFile: folder.file("out/day=b/fleet=1/notes.txt"), atomically: false, encoding: .utf8)
    #expect { try update("three", ["day=a/fleet=1", "day=b/fleet=1"]) } throws: {
      "\($0)".contains("it contains day=b/fleet=1")
    }
    #expect(try texts() == wanted.merging(["out/day=b/fleet=1/notes.txt": "mine"]) { $1 })
    // A folder with nested partitions is replaced as a whole, like any other.
    #expect(
      unlink(folder.file("out/day=b/fleet=1/notes.txt")) == 0 && unlink(folder.file("out/notes.txt")) == 0)
    try write("new", to: folder.file("out"), replaces: true)
    #expect(try tree() == Self.whole)
  }

  @Test func filesInPlaceOfFoldersAreErrors() throws {
    try "text".write(toFile: folder.file("file"), atomically: false, encoding: .utf8)
    #expect(try refusal(folder.file("file")).contains("not a folder"))
    #expect(try refusal(folder.file("none/out")).contains("check the folder"))
    for path in ["/", ".", "..", "/dev/null"] { _ = try refusal(path) }
  }
}
