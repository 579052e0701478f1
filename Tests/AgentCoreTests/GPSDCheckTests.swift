import AgentCore
import TestSupport
import Testing

/// The findings of `check` about the receivers of a gpsd.
@Suite struct GPSDCheckTests {
  private func finding(_ devices: [String], _ settings: String...) throws -> String? {
    let list = devices.map { #"{"class":"DEVICE","path":"\#($0)"}"# }.joined(separator: ",")
    let server = try FakeGPSD(lines: [
      #"{"class":"VERSION","release":"3.22","proto_major":3,"proto_minor":14}"#,
      #"{"class":"DEVICES","devices":[\#(list)]}"#,
    ])
    defer { server.stop() }
    let configuration = try AgentConfiguration(
      settings: ["vehicle.id=v", "gpsd.port=\(server.port)", "iio.enabled=false"] + settings)
    let line = EnvironmentCheck(configuration).sources().first { $0.subject == "gpsd" }?.line
    return line?.replacing("gpsd://127.0.0.1:\(server.port)", with: "gpsd://HOST")
  }

  @Test func receiversAreNamed() throws {
    let head = "gpsd: gpsd 3.22 at gpsd://HOST"
    #expect(try finding(["/dev/a"]) == "ok       \(head) with /dev/a")
    #expect(
      try finding(["/dev/a", "/dev/b"])
        == "ok       \(head) with /dev/a, /dev/b, of which one is used; set gpsd.device to select it")
    #expect(
      try finding(["/dev/a", "/dev/b"], "gpsd.device=/dev/b") == "ok       \(head) with /dev/a, /dev/b")
    #expect(
      try finding(["/dev/a", "/dev/b"], "gpsd.device=/dev/c")
        == "problem  \(head) has no /dev/c; set gpsd.device to one of: /dev/a, /dev/b")
  }
}
