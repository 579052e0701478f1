import Foundation
import TestSupport
import Testing

@testable import Platform

/// Both methods of renaming a file, on a real file system.
@Suite struct FileNamingTests {
  @Test(arguments: [false, true]) func nothingIsReplaced(bySecondName: Bool) throws {
    let folder = try TemporaryDirectory()
    func move(_ path: String, _ newPath: String) throws(SystemError) {
      if bySecondName {
        try AtomicFile.moveBySecondName(path, to: newPath)
      } else {
        try AtomicFile.moveToNewName(path, to: newPath)
      }
    }
    let (draft, path) = (try folder.write("draft", "new"), folder.file("a"))
    try move(draft, path)
    #expect(try String(contentsOfFile: path, encoding: .utf8) == "new")
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["a"])
    let second = try folder.write("second", "newer")
    let error = #expect(throws: SystemError.self) { try move(second, path) }
    #expect(try #require(error).code == EEXIST)
    #expect(try String(contentsOfFile: path, encoding: .utf8) == "new")
    // A symbolic link without a target is not replaced either.
    #expect(symlink("nowhere", folder.file("link")) == 0)
    #expect(throws: SystemError.self) { try move(second, folder.file("link")) }
    #expect(throws: SystemError.self) { try move(second, folder.file("none/a")) }
    #expect(try String(contentsOfFile: second, encoding: .utf8) == "newer")
  }
}
