import CStandardError
import Glibc
import MQTT
import Platform
import StoreAndForward
import Telemetry

// A process for tests to kill. Modes:
//   agent  STORE PORT CLIENT LOG PAUSE   accepts records until LOG.end exists, each with a line in LOG;
//                                        then delivers all records and exits
//   listen PORT CLIENT LOG KILL_AFTER    writes received messages as lines to LOG; kills itself inside the handler,
//                                        before it writes a batch, once LOG has KILL_AFTER messages
//   crash  HOW                           captures standard error like the agent, and crashes: trap, abort or kill

struct Provider: OutboundProvider {
  let outbox: Outbox

  func next(limit: Int) -> [OutboundRecord] {
    outbox.next(limit: limit).map { record in
      OutboundRecord(
        token: record.seq,
        message: MQTTMessage(
          topic: record.topic, payload: record.payload, qos: QoS(rawValue: record.qos) ?? .atLeastOnce,
          retain: record.retain))
    }
  }

  func acknowledged(_ tokens: [UInt64]) { outbox.remove(tokens) }

  func rejected(_ token: UInt64, reason: MQTTReasonCode) { outbox.reject(token, reason: reason.description) }

  func offerAgain() { outbox.offerAgain() }
}

/// A message whose payload is its identity.
struct Numbered: OutboxMessage {
  var lane: DeliveryLane
  var topic: String
  var retain: Bool

  func record(as identity: MessageIdentity) -> OutboxRecord {
    OutboxRecord(
      lane: lane, topic: topic, payload: Array("\(identity.epoch) \(identity.seq)".utf8), retain: retain,
      createdAt: .now)
  }
}

func append(_ line: String, to descriptor: Int32) {
  let bytes = Array((line + "\n").utf8)
  _ = bytes.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
}

func settings(_ port: String, _ client: String) -> MQTTConfiguration {
  var configuration = MQTTConfiguration(
    brokers: [MQTTConfiguration.Broker(host: "127.0.0.1", port: Int(port) ?? 0)], clientID: client)
  configuration.backoffBase = 0.05
  configuration.backoffLimit = 0.3
  configuration.connectTimeout = 2
  return configuration
}

func agent(store: String, port: String, client: String, log: String, pause: UInt32) throws {
  let descriptor = open(log, O_WRONLY | O_CREAT | O_APPEND, 0o644)
  var limits = OutboxConfiguration()
  // A clock that jumps by ten days would expire records of this lane after a week, but all accepted ones have to arrive.
  limits.other.age = nil
  let outbox = try Outbox(path: store, configuration: limits) { append("notice \($0)", to: 2) }
  var configuration = settings(port, client)
  configuration.will = MQTTMessage(
    topic: "status/\(client)", text: "offline", qos: .atLeastOnce, retain: true)
  let session = try MQTTSession(
    configuration: configuration, outbound: Provider(outbox: outbox), handlers: MQTTSession.Handlers())
  try session.start()
  var lanes = SystemRandomNumberGenerator()
  while access(log + ".end", F_OK) != 0 {
    let lane = [DeliveryLane.events, .events, .tracks, .other].randomElement(using: &lanes) ?? .events
    // Some of the tracks are last-known values, like locations.
    let isRetained = lane == .tracks && Bool.random(using: &lanes)
    let name = isRetained ? "last" : "\(lane)"
    let messages = (0..<Int.random(in: 1...5)).map { _ in
      Numbered(lane: lane, topic: "records/\(name)", retain: isRetained)
    }
    // A record is accepted when `append` returns: only then the log has a line for it. Records that are in memory only may be lost with
    // the process, and are marked.
    let identities = outbox.append(messages)
    let mark = outbox.status.mode == .durable ? "" : "?"
    for identity in identities { append("\(name)\(mark) \(identity.epoch) \(identity.seq)", to: descriptor) }
    session.wakeUp()
    if pause > 0 { usleep(UInt32.random(in: 0...pause)) }
  }
  while outbox.status.records > 0 { usleep(1000) }
  session.stop()
  outbox.close()
}

func listen(port: String, client: String, log: String, killAfter: Int) throws {
  let descriptor = open(log, O_WRONLY | O_CREAT | O_APPEND, 0o644)
  var configuration = settings(port, client)
  configuration.cleanStart = false
  configuration.sessionExpiryInterval = 3600
  let kept = Locked(0)
  let handlers = MQTTSession.Handlers(received: { batch in
    kept.withLock { kept in
      if kept >= killAfter { kill(getpid(), SIGKILL) }
      for message in batch { append(String(decoding: message.payload, as: UTF8.self), to: descriptor) }
      kept += batch.count
    }
    return .kept
  })
  let session = try MQTTSession(
    configuration: configuration, subscriptions: [MQTTSubscription("records/#", qos: .atLeastOnce)],
    handlers: handlers)
  try session.start()
  while true { pause() }
}

/// Captured standard error is discarded, so that the output on the real one is what the crash saved.
func crash(_ how: String) throws {
  guard standard_error_capture() else { exit(2) }
  let reader = try DedicatedThread.start(name: "reader") {
    var bytes: UnsafePointer<UInt8>?
    while standard_error_read(&bytes) > 0 {}
  }
  reader.detach()
  append("a library's line", to: 2)
  usleep(200_000)
  switch how {
  case "trap": fatalError("the last words")
  case "abort":
    append("the last words", to: 2)
    abort()
  default:
    append("the last words", to: 2)
    kill(getpid(), SIGSEGV)
    while true { pause() }
  }
}

let arguments = CommandLine.arguments
switch (arguments.dropFirst().first, arguments.count) {
case ("agent", 7):
  try agent(
    store: arguments[2], port: arguments[3], client: arguments[4], log: arguments[5],
    pause: UInt32(arguments[6]) ?? 0)
case ("listen", 6):
  try listen(port: arguments[2], client: arguments[3], log: arguments[4], killAfter: Int(arguments[5]) ?? 0)
case ("crash", 3): try crash(arguments[2])
default:
  print("usage: crash HOW | agent STORE PORT CLIENT LOG PAUSE | listen PORT CLIENT LOG KILL_AFTER")
  exit(2)
}
