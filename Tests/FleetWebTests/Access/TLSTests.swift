import Fleet
import FleetProgram
import FleetWeb
import Glibc
import TestSupport
import Testing

struct TLSTests {
  private func copy(_ from: String, _ to: String) throws {
    let copy = try ChildProcess("cp", [from, to])
    #expect(copy.waitForExit() == 0)
  }

  /// Returns the subject of the server's certificate by the `openssl` program.
  private func subject(_ port: Int, _ arguments: [String] = []) throws -> String {
    let client = try ChildProcess("openssl", ["s_client", "-connect", "127.0.0.1:\(port)"] + arguments)
    _ = client.waitForExit()
    let lines = client.output.split(separator: "\n").filter { $0.hasPrefix("subject=") }
    return lines.first.map(String.init) ?? "none: \(client.output.suffix(300))"
  }

  @Test func aRenewedCertificateIsShownWithoutARestart() async throws {
    let authority = try CertificateAuthority()
    let folder = try TemporaryDirectory()
    let (certificate, key) = (folder.file("tls.crt"), folder.file("tls.key"))
    let old = try authority.issue("old")
    let new = try authority.issue("new")
    try copy(old.certificateFile, certificate)
    try copy(old.keyFile, key)
    let store = try CertificateStore(certificateFile: certificate, keyFile: key)
    let (caFile, newCertificate, newKey) = (authority.certificateFile, new.certificateFile, new.keyFile)
    try await AccessFixture.run(
      AccessFixture.configuration(AccessFixture.settings()), certificates: store, subjects: [SomeRoutes()]
    ) { web in
      #expect(try subject(web.port).contains("CN = old"))
      let standing = try ChildProcess(
        "curl",
        [
          "-sS", "--cacert", caFile, "-N", "-H", "Authorization: Bearer \(AccessFixture.operateToken)",
          "https://localhost:\(web.port)/api/v1/stream",
        ])
      #expect(waitUntil { standing.output.contains(": here") })
      // The files are replaced one after the other: while they do not match, the former ones stay in use.
      try copy(newCertificate, certificate)
      #expect(throws: FleetError.self) { try store.reloadIfChanged() }
      #expect(try subject(web.port).contains("CN = old"))
      try copy(newKey, key)
      #expect(try store.reloadIfChanged())
      #expect(try store.reloadIfChanged() == false)
      #expect(try subject(web.port).contains("CN = new"))
      // The open connection continues.
      let before = standing.output.utf8.count
      #expect(waitUntil { standing.output.utf8.count > before } && standing.isRunning)
      _ = standing.terminate()
      let login = try ChildProcess(
        "curl",
        [
          "-sSi", "--cacert", caFile, "-H", "Content-Type: application/json", "-d",
          "{\"name\":\"ann\",\"password\":\"\(AccessFixture.password)\"}",
          "https://localhost:\(web.port)/api/v1/session",
        ])
      #expect(login.waitForExit() == 0)
      #expect(
        login.output.contains("__Host-odograph=") && login.output.contains("; Secure"), "\(login.output)")
      // Old protocols and unencrypted requests are refused.
      #expect(try subject(web.port, ["-tls1_1", "-cipher", "DEFAULT@SECLEVEL=0"]).hasPrefix("none"))
      let plain = try RawClient(port: web.port)
      plain.send("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
      #expect(throws: RawClient.Failure.self) { try plain.receive(seconds: 5) }
    }
  }

  @Test func filesThatDoNotMatchAreRefused() throws {
    let authority = try CertificateAuthority()
    let a = try authority.issue("a")
    let b = try authority.issue("b")
    for (certificate, key) in [
      (a.certificateFile, b.keyFile), ("/nonexistent", a.keyFile), (a.certificateFile, "/nonexistent"),
      (a.keyFile, a.keyFile), (a.certificateFile, a.certificateFile),
    ] {
      let error = #expect(throws: FleetError.self) {
        try CertificateStore(certificateFile: certificate, keyFile: key)
      }
      #expect(
        error?.kind == .invalidInput && error?.description.contains("[tls]") == true,
        "\(error?.description ?? "")")
    }
    for text in ["[tls]\nkey = \"x\"", "[tls]\ncertificate = \"x\""] {
      let file = try SettingsFile(text: text, path: "serve.toml")
      #expect(throws: FleetError.self) { try CertificateStore.configured(in: file) }
    }
    #expect(try CertificateStore.configured(in: SettingsFile(text: "", path: "serve.toml")) == nil)
  }
}
