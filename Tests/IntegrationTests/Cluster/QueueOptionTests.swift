import TestSupport
import Testing

/// Invalid queue options of `odograph record`: each error names the remedy.
@Suite struct QueueOptionTests {
  @Test(
    .timeLimit(.minutes(6)),
    arguments: [
      ("--from amqps://a", 64, "add --queue NAME"),
      ("--queue q", 64, "requires --from"),
      ("--exchange e", 64, "requires --from"),
      ("--from mqtt://a --queue q", 64, "must start with amqp:// or amqps://"),
      ("--from amqps://a --queue q --share g", 64, "the same --queue"),
      ("--from amqps://a --queue q --client-id c", 64, "use --queue instead"),
      ("--from amqps://a --queue q --session-expiry 5", 64, "--forget"),
      ("--from amqps://a --queue q --qos 0", 64, "remove the option"),
      ("--from amqps://a --queue q --broker b", 64, "give one of them"),
      ("--from amqps://a --queue q --host b", 64, "leave it out"),
      ("--from amqps://a --queue q --mqtt-v311", 64, "leave it out"),
      ("--from amqps://a --queue q --alpn x", 64, "leave it out"),
      ("--from amqps://a --queue q --psk-identity x", 64, "leave it out"),
      ("--from amqps://a --queue q", 64, "a user or a certificate is required"),
      ("--from amqps://u@a --queue q", 64, "--password-file"),
      ("--from amqp://a --queue q --ca x", 64, "write amqps://"),
      ("--from amqps://u@a --queue amq.q --password-file x", 64, "the broker's own"),
      ("--from amqps://u@a --queue q --password-file x --vehicle van.1", 64, "without dots"),
      ("--from amqp://u@127.0.0.1:1 --queue q --password-file x", 69, "the firewall"),
    ])
  func isRefused(_ options: String, _ status: Int32, _ remedy: String) async throws {
    let directory = try TemporaryDirectory()
    let run = try await OdographProcess.run(
      ["record", directory.file("fleet.sqlite")] + options.split(separator: " ").map(String.init))
    #expect(run.status == status && run.output.contains(remedy), "\(options): \(run.output)")
  }

  /// The port belongs to a program that does not speak AMQP.
  @Test(.timeLimit(.minutes(6))) func portOfAnMQTTBroker() async throws {
    let broker = try BrokerFixture()
    let directory = try TemporaryDirectory()
    let password = try directory.write("password", "secret\n")
    let run = try await OdographProcess.run([
      "record", directory.file("fleet.sqlite"), "--from", "amqp://u@127.0.0.1:\(broker.port)", "--queue", "q",
      "--password-file", password,
    ])
    #expect(run.status == 69 && run.output.contains("speaks AMQP 0-9-1"), "\(run.output)")
  }
}
