import AgentCore
import TestSupport
import Testing

/// Detection of the permission to scan in the installed unit.
@Suite struct RadioCheckTests {
  @Test func dropInGrantsThePermission() throws {
    let folder = try TemporaryDirectory()
    let unit = try folder.write("odographd.service", "[Service]\nAmbientCapabilities=\n")
    func isWithoutRight() -> Bool { RadioCheck.isUnitWithoutRight(unit: unit, dropIns: folder.file("d")) }
    #expect(isWithoutRight())
    #expect(!RadioCheck.isUnitWithoutRight(unit: folder.file("none"), dropIns: folder.file("d")))
    let other = try TemporaryDirectory()
    func isWithoutRight(_ name: String, _ text: String) throws -> Bool {
      try other.write(name, text)
      return RadioCheck.isUnitWithoutRight(unit: unit, dropIns: other.path)
    }
    #expect(try isWithoutRight("a.conf", "# AmbientCapabilities=CAP_NET_ADMIN\n"))
    #expect(try isWithoutRight("radio.txt", "AmbientCapabilities=CAP_NET_ADMIN\n"))
    #expect(try !isWithoutRight("radio.conf", "[Service]\nAmbientCapabilities=CAP_NET_ADMIN\n"))
  }
}
