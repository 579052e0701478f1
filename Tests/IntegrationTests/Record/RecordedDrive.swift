import Foundation
import TestSupport

/// Records a simulated fleet: `odograph simulate` through a real mosquitto into `odograph record`, with outages that cause track messages,
/// and with third-party messages.
struct RecordedDrive {
  let broker: BrokerFixture
  let state: TemporaryDirectory

  init() throws {
    broker = try BrokerFixture()
    state = try TemporaryDirectory()
  }

  var address: [String] { ["--broker", "mqtt://127.0.0.1:\(broker.port)"] }

  /// Records while `work` runs, and until `isDone`.
  func record(
    into store: String, subscription: Int, until isDone: @autoclosure () throws -> Bool,
    while work: () async throws -> Void
  ) async throws {
    let record = RecordProcess(
      broker, into: store, ["--client-id", "recorder-\(subscription)", "--topic", "#"], state: state)
    try record.start()
    try await broker.waitForLog("Sending SUBACK to recorder-\(subscription)")
    try await work()
    try await eventually { try isDone() }
    _ = try await record.finish()
  }

  /// Simulates vehicles with outages, events and live values, and publishes third-party messages.
  func drive(seconds: Double = 4) async throws {
    let result = try await OdographProcess.run(
      [
        "simulate", "--vehicles", "8", "--rate", "4", "--speed", "20", "--outages", "3600",
        "--outage-seconds",
        "1", "--events", "3600", "--live-rate", "1", "--seconds", "\(seconds)", "--fleet", "demo", "--seed",
        "3",
      ] + address)
    guard result.status == 0 else { throw PublishError(text: result.output) }
    try await publish(broker, "sensors/1", "no JSON: \u{FC}")
    try await publish(
      broker, "owntracks/ann/phone", #"{"_type":"location","lat":48.25,"lon":11.5,"tst":1795262400}"#)
    try await publish(
      broker, "owntracks/ann/phone/event", #"{"_type":"transition","event":"leave","tst":1795262401}"#)
    try await publish(broker, "sensors/done", "the last one")
  }

  /// Returns whether the last message of `drive` is stored.
  static func isWhole(_ store: String) throws -> Bool {
    let reader = try SQLiteReader(store)
    guard try !reader.rows("SELECT 1 FROM sqlite_master WHERE name = 'messages'").isEmpty else {
      return false
    }
    return try !reader.rows("SELECT 1 FROM messages WHERE topic = 'sensors/done'").isEmpty
  }
}
