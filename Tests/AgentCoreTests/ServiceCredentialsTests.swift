import AgentCore
import Foundation
import TestSupport
import Testing

/// Files that systemd passes to the service.
@Suite struct ServiceCredentialsTests {
  @Test func checkBeforeTheStartReadsTheStoredFile() throws {
    let directory = try TemporaryDirectory()
    let (passed, stored) = (directory.file("run-mqtt_"), directory.file("etc-"))
    func source() -> String {
      ServiceCredentials.source(of: passed + "password", passed: passed, stored: stored)
    }
    #expect(source() == passed + "password")
    try directory.write("etc-password", "secret")
    #expect(source() == stored + "password")
    try directory.write("run-mqtt_password", "secret")
    #expect(source() == passed + "password")
    #expect(ServiceCredentials.source(of: "/elsewhere", passed: passed, stored: stored) == "/elsewhere")
  }

  @Test func filesThatTheServiceCannotReadAreNamed() throws {
    #expect(ServiceCredentials.obstacle("/root/secret/password") == "the service does not see /root")
    #expect(ServiceCredentials.obstacle("/etc/passwd") == nil)
    let new = try NewConfiguration(
      preset: "test-bench", vehicle: "v", fleet: "default", broker: "mqtt://u@localhost",
      access: [NewConfiguration.Access("--password-file", "password_file", "/home/ann/password")])
    let warning = try #require(new.serviceFindings.first)
    #expect(new.serviceFindings.count == 1)
    #expect(
      warning.line
        == "warning  --password-file: /home/ann/password: the service does not see /home; copy it to "
        + "/etc/odographd/credentials/password, and set mqtt.password_file to "
        + "/run/credentials/odographd.service/mqtt_password")
    #expect(new.accessOptions == " --user … --password-file …")
  }
}
