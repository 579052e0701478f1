import CPeers
import Glibc
import Support

/// Runs one round of a reader: starts it, publishes, and waits until it has received everything. Each round has its own broker, which would
/// otherwise queue messages for readers that have exited.
@MainActor func run(
  _ name: String, _ reader: String, client: String, qos: Int32, arguments: (_ port: String) -> [String]
) {
  let broker = Broker(in: directory)
  let child = Child(arguments("\(broker.port)"))
  broker.waitForSubscription(of: client)
  let start = now()
  let published = publish_fleet(
    "127.0.0.1", Int32(broker.port), qos, qos == 0 ? 1000 : 500, 0, Int32(messages))
  if published < 0 { complain("\(name): publishing failed with \(published)") }
  let isComplete = child.wait(atMost: 600)
  let seconds = now() - start
  if !isComplete { complain("\(name): \(reader) did not receive all messages") }
  let rate = isComplete ? "\(Int(Double(messages) / seconds))" : "nan"
  printLine("\(name),\(reader),\(rate),\(tenths(child.peakResident))")
  broker.end()
  // Processor time in s of each process on the machine.
  let perMessage = (child.processorTime * 1e7 / Double(messages)).rounded() / 10
  complain(
    "  \(tenths(seconds)) s; \(reader) \(tenths(child.processorTime)) s (\(perMessage) µs a message), mosquitto \(tenths(broker.processorTime)) s"
  )
}

func tenths(_ value: Double) -> String { value.isFinite ? "\((value * 10).rounded() / 10)" : "nan" }

@MainActor func myself(_ arguments: String...) -> [String] { ["/proc/self/exe", "--child"] + arguments }

@MainActor private func record(_ port: String, _ client: String, _ count: Int, _ store: String) -> [String] {
  odograph("record", port: port, ["--client-id", client, "--count", "\(count)", "--quiet", store])
}

/// Subscribes with QoS 0 to all messages of the root.
@MainActor private func listen(_ command: String, _ port: String) -> [String] {
  odograph(command, port: port, ["--qos", "0", "--count", "\(messages)"])
}

@MainActor func measureRecord() {
  let database = PostgreSQL(in: directory)
  if database == nil { complain("PostgreSQL is not installed; record-postgresql is skipped") }
  defer { database?.end() }
  let places = database?.database("places", with: "postgis")
  for round in 1...max(1, rounds) {
    run("record", "minimal-c", client: "minimal", qos: 1) {
      myself("acknowledge", $0, "minimal", "\(messages)")
    }
    let file = "\(directory)/round-\(round).sqlite"
    run("record", "odograph-sqlite", client: "sqlite", qos: 1) {
      record($0, "sqlite", messages, file)
    }
    for suffix in ["", "-wal", "-shm"] { unlink(file + suffix) }
    if let database { record(database, "odograph-postgresql", database.url) }
    if let database, let places { record(database, "odograph-postgis", places) }
  }
}

/// Runs one round into a database, and prints the processor time of the server.
@MainActor private func record(_ server: PostgreSQL, _ reader: String, _ address: String) {
  let before = server.processorTime
  run("record", reader, client: "postgresql", qos: 1) { record($0, "postgresql", messages, address) }
  // The server may still be closing the recorder's connection.
  usleep(300_000)
  let perMessage = ((server.processorTime - before) * 1e7 / Double(messages)).rounded() / 10
  complain("  PostgreSQL \(perMessage) µs a message")
  _ = Child([
    "psql", "-q", "-c", "SET client_min_messages = error; DROP SCHEMA odograph CASCADE", "-c", "CHECKPOINT",
    address,
  ])
  .wait(atMost: 60)
}

@MainActor func measureTail() {
  for _ in 1...max(1, rounds) {
    run("tail", "mosquitto_sub", client: "peer", qos: 0) { port in
      [
        "mosquitto_sub", "-p", port, "-i", "peer", "-V", "5", "-q", "0", "-t", "odograph/v1/#", "-F", "%j",
        "-C",
        "\(messages)",
      ]
    }
    // Its client ID is generated; the log shows it with the subscription.
    run("tail", "odograph-tail", client: "odograph-", qos: 0) { listen("tail", $0) }
  }
}

@MainActor func measureStats() {
  for _ in 1...max(1, rounds) {
    // Prints payloads unchanged, which is the minimal processing.
    run("stats", "mosquitto_sub", client: "peer", qos: 0) { port in
      [
        "mosquitto_sub", "-p", port, "-i", "peer", "-V", "5", "-q", "0", "-t", "odograph/v1/#", "-C",
        "\(messages)",
      ]
    }
    run("stats", "odograph-stats", client: "odograph-", qos: 0) { listen("stats", $0) + ["--json"] }
  }
}

/// Measures whether memory is constant, independent of the number of messages.
@MainActor func measureMemory() {
  let file = "\(directory)/memory.sqlite"
  let broker = Broker(in: directory)
  defer { broker.end() }
  let child = Child(record("\(broker.port)", "memory", memoryMessages, file))
  broker.waitForSubscription(of: "memory")
  let portion = max(1, memoryMessages / 10)
  let start = now()
  for tenth in 0..<10 {
    let first = tenth * portion
    let count = tenth == 9 ? memoryMessages - first : portion
    let begin = now()
    _ = publish_fleet("127.0.0.1", Int32(broker.port), 1, 500, Int32(first), Int32(count))
    printLine(
      "memory-\(first + count),odograph-sqlite,\(Int(Double(count) / (now() - begin))),\(tenths(child.highWater))"
    )
  }
  let isComplete = child.wait(atMost: 3600)
  if !isComplete { complain("memory: record did not receive all messages") }
  printLine(
    "memory-all,odograph-sqlite,\(Int(Double(memoryMessages) / (now() - start))),\(tenths(child.peakResident))"
  )
}
