import ArgumentParser
import Fleet
import Foundation
import MQTT
import Testing

@testable import FleetCommand

@Suite struct ProfileFileTests {
  private func file(_ text: String) throws(FleetError) -> ProfileFile {
    try ProfileFile(text: text, path: "/home/ann/.config/odograph/profile.toml", home: "/home/ann")
  }

  @Test func readsEveryKey() throws {
    let profile = try #require(
      try file(
        """
        [work]
        broker = "mqtts://broker.example"
        user = "ann"
        password_file = "secret"
        ca_file = "/etc/ca.pem"
        ca_folder = "~/cas"
        certificate_file = "~/ann.pem"
        key_file = "ann.key"
        psk_identity = "a"
        psk_file = "psk"
        alpn = "mqtt"
        tls_minimum = "1.3"
        protocol = "3.1.1"
        topic_root = "x/y"
        message_profile = "owntracks"
        fleet = ["a", "b"]
        """
      ).profile(named: "work"))
    #expect(profile[.broker] == "mqtts://broker.example" && profile[.user] == "ann")
    #expect(
      profile[.passwordFile] == "/home/ann/.config/odograph/secret"
        && profile[.authorityFile] == "/etc/ca.pem")
    #expect(profile[.authorityFolder] == "/home/ann/cas" && profile[.certificateFile] == "/home/ann/ann.pem")
    #expect(
      profile[.minimumTLS] == "1.3" && profile[.mqttProtocol] == "3.1.1" && profile.fleets == ["a", "b"])
    #expect(profile[.messageProfile] == "owntracks")
    #expect(profile.place == "/home/ann/.config/odograph/profile.toml [work]")
  }

  @Test func theDefaultProfileNeedsNoName() throws {
    let profiles = try file("[default]\nfleet = \"a\"\n")
    #expect(try profiles.profile(named: nil)?.fleets == ["a"])
    #expect(try file("").profile(named: nil) == nil)
    let error = try #require(throws: FleetError.self) { try profiles.profile(named: "wrok") }
    #expect(error.description.contains("has no [wrok]; it has default") && error.kind == .invalidInput)
  }

  /// Each error has the file, the line, the column and a remedy.
  @Test(arguments: [
    ("[a]\nbrokr = \"x\"", ":2:1", "unknown key brokr in [a]; did you mean broker?"),
    ("[a]\nsomething = \"x\"", ":2:1", "unknown key something in [a]; available: broker, user"),
    ("[a]\n\nbroker = 5", ":3:10", "key broker: must be a text in quotes"),
    ("broker = \"x\"", ":1:1", "is outside the tables; move it into one, below [default]"),
    ("[a]\ntls_minimum = \"1.1\"", ":2:15", #""1.1" is unknown; did you mean "1.2"?"#),
    ("[a]\nfleet = [1]", ":2:9", "or a list of them"), ("[a]\nfleet = []", ":2:9", "or a list of them"),
    ("[a]\nbroker = \"x", ":2:12", "not TOML"), ("[.a]", ":1:2", "a name is missing here"),
    ("[[", ":1:3", "not TOML"),
    ("[a]\nuser = \"\"", ":2:8", "must be a text in quotes"),
  ])
  func errorsHaveTheirPosition(text: String, place: String, cause: String) throws {
    let error = try #require(throws: FleetError.self) { try file(text) }
    #expect(error.object == "/home/ann/.config/odograph/profile.toml" + place)
    #expect(error.cause.contains(cause), "\(error)")
    #expect(error.kind == .invalidInput)
  }

  @Test func usualPlaces() {
    #expect(ProfileFile.usualPath { ["HOME": "/h"][$0] } == "/h/.config/odograph/profile.toml")
    #expect(
      ProfileFile.usualPath { ["HOME": "/h", "XDG_CONFIG_HOME": "/c"][$0] } == "/c/odograph/profile.toml")
    #expect(ProfileFile.usualPath { _ in nil } == nil)
  }

  /// The example is a valid profile file with every key.
  @Test func theExampleContainsEveryKey() throws {
    let folder = (0..<4).reduce(URL(filePath: #filePath)) { url, _ in url.deletingLastPathComponent() }
    let path = folder.appending(path: "Config/profile.toml").path(percentEncoded: false)
    let text = try String(contentsOfFile: path, encoding: .utf8)
    let example = try ProfileFile(text: text, path: path, home: "/home/ann")
    #expect(try example.profile(named: "work")?[.user] == "ann")
    for key in Profile.Key.allCases { #expect(text.contains("\(key.rawValue) = "), "\(key)") }
  }

  @Test func certificateAndKeyGoTogether() throws {
    let alone = try BrokerArguments.parse(["--broker", "mqtt://h", "--cert", "c.pem"])
    let error = try #require(throws: FleetError.self) { try alone.configuration() }
    #expect(error.kind == .invalidInput && error.object == "--cert")
    let both = try BrokerArguments.parse(["--broker", "mqtt://h", "--cert", "c.pem", "--key", "k.pem"])
    let configuration = try both.configuration()
    #expect(configuration.tls?.identity?.keyFile == "k.pem" && configuration.brokers.first?.port == 8883)
  }

  @Test func methodsOfTrustExcludeEachOther() throws {
    for (arguments, object) in [
      (["--ca", "a", "--ca-folder", "b"], "--ca, --ca-folder and --psk-identity"),
      (["--psk-identity", "a"], "--psk-identity"), (["--psk-file", "a"], "--psk-file"),
    ] {
      let options = try BrokerArguments.parse(["--broker", "mqtt://h:1"] + arguments)
      let error = try #require(throws: FleetError.self) { try options.configuration() }
      #expect(error.object == object)
    }
    let options = try BrokerArguments.parse(["--broker", "mqtt://h:1", "--ca", "a"])
    let configuration = try options.configuration()
    #expect(configuration.tls?.trust == .file("a") && configuration.brokers.first?.port == 1)
  }
}
