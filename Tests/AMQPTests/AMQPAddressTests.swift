import AMQP
import MQTT
import Platform
import Testing

struct AMQPAddressTests {
  struct Good: Sendable {
    var text: String
    var nodes: [String]
    var usesTLS = true
    var user: String?
    var host = "/"
  }

  @Test(arguments: [
    Good(text: "amqps://broker.example", nodes: ["broker.example:5671"]),
    Good(text: "amqp://broker.example/", nodes: ["broker.example:5672"], usesTLS: false),
    Good(text: "AMQPS://fleet@a,b:5673,[::1]:99/", nodes: ["a:5671", "b:5673", "[::1]:99"], user: "fleet"),
    Good(text: "amqps://a/fleet", nodes: ["a:5671"], host: "fleet"),
    Good(text: "amqps://a/%2f", nodes: ["a:5671"]),
    Good(text: "amqps://me%40home@a/caf%C3%A9%2Fx", nodes: ["a:5671"], user: "me@home", host: "café/x"),
    Good(text: "amqps://acme%2Fvan@a/x", nodes: ["a:5671"], user: "acme/van", host: "x"),
  ])
  func reads(_ good: Good) throws {
    let address = try AMQPAddress(parsing: good.text)
    #expect(address.nodes.map(\.description) == good.nodes)
    #expect(address.usesTLS == good.usesTLS && address.user == good.user && address.virtualHost == good.host)
  }

  @Test(arguments: [
    ("mqtt://a", "must start with amqp"), ("amqps://", "it has no host"), ("amqps://a:0", "port"),
    ("amqps://a,,b", "no host"),
    ("amqps://u:p@a", "--password-file"), ("amqps://@a", "is no user"), ("amqps://a/b/c", "%2F"),
    ("amqps://a/%zz", "hexadecimal"), ("amqps://a/%+1", "hexadecimal"), ("amqps://a/%C3", "hexadecimal"),
    ("amqps://a/x?heartbeat=1", "no options"), ("amqps://::1", "brackets"), ("amqps://a/%00", "virtual host"),
  ])
  func refuses(_ text: String, _ cause: String) {
    let error = #expect(throws: OperationError.self) { try AMQPAddress(parsing: text) }
    #expect(error?.cause.contains(cause) == true, "\(text): \(error?.description ?? "")")
  }

  @Test func refusesSettingsThatCannotWork() throws {
    let address = try AMQPAddress(parsing: "amqps://fleet@a")
    let sound = AMQPConfiguration(address: address, queue: "odograph-record", patterns: ["#"])
    try sound.validate()
    func refused(_ cause: String, _ change: (inout AMQPConfiguration) -> Void) {
      var changed = sound
      change(&changed)
      let error = #expect(throws: OperationError.self) { try changed.validate() }
      #expect(error?.description.contains(cause) == true, "\(error?.description ?? "")")
    }
    refused("queue") { $0.queue = "" }
    refused("amq.") { $0.queue = "amq.mine" }
    refused("255") { $0.queue = String(repeating: "q", count: 256) }
    refused("patterns") { $0.patterns = [] }
    refused("mostPrefetch") { $0.mostPrefetch = 0 }
    refused("mostPrefetch") { $0.mostPrefetch = 65_536 }
    refused("heartbeat") { $0.heartbeat = 0 }
    refused("certificate") { $0.user = nil }
    refused("password") { ($0.user, $0.password) = (nil, .value("x")) }
    refused("shared key") { $0.tls = MQTTTLS(trust: .preSharedKey(identity: "a", key: .value("00"))) }
    refused("ALPN") { $0.tls?.alpn = "mqtt" }
  }
}
