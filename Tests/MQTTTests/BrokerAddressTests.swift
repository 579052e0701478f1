import MQTT
import Platform
import Testing

@Suite struct BrokerAddressTests {
  @Test(
    arguments: [
      ("host", "host", 1883, false, nil), ("mqtt://host", "host", 1883, false, nil),
      ("mqtts://host", "host", 8883, true, nil), ("mqtt://ann@host:99/", "host", 99, false, "ann"),
      ("MQTTS://ann@host", "host", 8883, true, "ann"), ("127.0.0.1:1", "127.0.0.1", 1, false, nil),
      ("[::1]", "::1", 1883, false, nil), ("mqtt://[fe80::1]:7", "fe80::1", 7, false, nil),
      ("mqtt://a@b@host", "host", 1883, false, "a@b"),
    ] as [(String, String, Int, Bool, String?)])
  func reads(text: String, host: String, port: Int, usesTLS: Bool, user: String?) throws {
    let address = try BrokerAddress(parsing: text)
    #expect(
      address.host == host && address.port == port && address.usesTLS == usesTLS && address.user == user)
  }

  @Test(arguments: [
    ("", "no host"), ("mqtt://", "no host"), ("http://x", "must start with mqtt"), ("host:", "port"),
    ("host:0", "port"),
    ("host:65536", "port"), ("host:x", "port"), ("ann:secret@host", "--password-file"),
    ("@host", "user before the @ is missing"),
    ("::1", "brackets"), ("[::1", "not closed"), ("[::1]x", "only a port"), ("a b", "not a host name"),
    ("host/path", "not a host name"),
  ])
  func refuses(text: String, cause: String) {
    let error = #expect(throws: OperationError.self) { try BrokerAddress(parsing: text) }
    #expect(error?.cause.contains(cause) == true)
  }
}
