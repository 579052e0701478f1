import CPeers
import Glibc
import Support

// Speedup of several recorders into one PostgreSQL over a single one. They drain messages queued by a broker, so that the publisher has no
// effect. Each row also has the processor time of each part, and the limiting one.

/// Connection between a broker and recorders.
private enum Way: String, CaseIterable {
  /// mosquitto with one session, without a group.
  case session
  /// mosquitto with `--share`.
  case share
  /// A quorum queue of RabbitMQ with `--from`.
  case queue

  var counts: [Int] { self == .session ? [1] : [1, 2, 4] }
}

/// Process IDs of the parts.
private struct Parts {
  var broker: pid_t
  var recorders: [pid_t]
  var database: pid_t

  /// Processor time of each part so far, s.
  var times: [Double] {
    [
      ProcessTree.processorTime(of: broker),
      recorders.reduce(0) { $0 + ProcessTree.processorTime(of: $1) },
      ProcessTree.processorTime(of: database),
    ]
  }
}

@MainActor func measureScaling() {
  guard let database = PostgreSQL(in: directory) else { return complain("PostgreSQL is not installed") }
  defer { database.end() }
  printLine(
    "way,recorders,messages_per_second,ratio,broker_s,recorders_s,database_s,lock_waits,disk_waits,limit")
  for _ in 1...max(1, rounds) {
    var single: Double?
    for way in Way.allCases {
      for count in way.counts {
        guard let rate = drain(way, count, database, against: single) else { continue }
        if single == nil || (way != .share && count == 1) { single = rate }
      }
    }
  }
}

/// Runs one round. Returns messages per second.
@MainActor private func drain(
  _ way: Way, _ count: Int, _ database: PostgreSQL, against single: Double?
) -> Double? {
  let store = database.url
  func start(_ at: [String], _ number: Int) -> Child {
    let own = way == .session ? ["--client-id", "scale"] : way == .share ? ["--share", "scale"] : []
    return Child(odograph("record", at, own + ["--quiet", store]))
  }
  var recorders: [Child] = []
  var stop: () -> Void = {}
  let broker: pid_t
  if way == .queue {
    guard let rabbit = RabbitMQ(in: directory) else {
      complain("RabbitMQ is not installed or does not start; queue is skipped")
      return nil
    }
    write("guest\n", to: "\(directory)/password")
    let at = [
      "--from", "amqp://guest@127.0.0.1:\(rabbit.queuePort)", "--queue", "scale", "--password-file",
      "\(directory)/password",
    ]
    recorders = (0..<count).map { start(at, $0) }
    while (rabbit.queue("scale")?.consumers ?? 0) < count { usleep(300_000) }
    // The recorders are suspended while the queue fills.
    for recorder in recorders { kill(recorder.processID, SIGSTOP) }
    let seconds = publish_fleet_v311("127.0.0.1", Int32(rabbit.port), 500, 0, Int32(messages))
    if seconds < 0 { complain("queue: publishing failed with \(seconds)") }
    complain("  \(Int(Double(messages) / seconds)) messages/s into the queue")
    broker = rabbit.processID
    stop = {
      rabbit.end()
      remove("\(directory)/rabbitmq")
    }
  } else {
    let mosquitto = Broker(in: directory)
    recorders = (0..<count).map { start(["--broker", "mqtt://127.0.0.1:\(mosquitto.port)"], $0) }
    mosquitto.waitForSubscription(of: way == .session ? "scale" : "odograph-record", times: count)
    for recorder in recorders { kill(recorder.processID, SIGSTOP) }
    let seconds = publish_fleet("127.0.0.1", Int32(mosquitto.port), 1, 500, 0, Int32(messages))
    if seconds < 0 { complain("\(way): publishing failed with \(seconds)") }
    complain("  \(Int(Double(messages) / seconds)) messages/s into the broker")
    broker = mosquitto.processID
    stop = { mosquitto.end() }
  }
  defer { stop() }
  let parts = Parts(broker: broker, recorders: recorders.map(\.processID), database: database.processID)
  let waits = LockWaits(database.url)
  let before = parts.times
  let begin = now()
  for recorder in recorders { kill(recorder.processID, SIGCONT) }
  let (end, after) = untilQuiet(parts, database.url)
  let share = waits.end()
  for recorder in recorders { _ = recorder.end(SIGTERM) }
  let seconds = end - begin
  let used = zip(after, before).map { $0 - $1 }
  let rate = Double(messages) / seconds
  let rows = rowsAndClear(database.url)
  if rows != messages { complain("\(way), \(count): \(rows) rows of \(messages) messages") }
  let ratio = single.map { tenths($0 > 0 ? rate / $0 * 10 : .nan) }.map { text in
    Double(text).map { "\(($0 * 10).rounded() / 100)" } ?? "nan"
  }
  printLine(
    "\(way.rawValue),\(count),\(Int(rate)),\(ratio ?? "1"),\(tenths(used[0])),\(tenths(used[1])),\(tenths(used[2])),"
      + "\(Int((share.locks * 100).rounded())) %,\(Int((share.disk * 100).rounded())) %,\(limit(used, seconds, share, way))"
  )
  return rate
}

/// Waits until everything is stored. Returns the time at which the recorders were last active, and the processor times of all parts.
@MainActor private func untilQuiet(_ parts: Parts, _ url: String) -> (end: Double, times: [Double]) {
  var last = parts.times
  var end = now()
  while true {
    usleep(50_000)
    let times = parts.times
    // Ignores a single clock tick of the kernel, which is unrelated to messages.
    if times[1] - last[1] > 0.015 { (last, end) = (times, now()) }
    guard now() - end > 1 else { continue }
    // A pause can also be a wait for the disk.
    if storedRows(url) >= messages || now() - end > 60 { return (end, last) }
  }
}

/// Returns the part that limits the rate.
private func limit(_ used: [Double], _ seconds: Double, _ waits: LockWaits.Share, _ way: Way) -> String {
  let cores = Double(sysconf(Int32(_SC_NPROCESSORS_ONLN)))
  let names = ["broker", "recorders", "database"]
  let busiest = used.indices.max { used[$0] < used[$1] } ?? 0
  // mosquitto is single-threaded.
  if way != .queue, used[0] > 0.85 * seconds { return "the broker's thread" }
  if waits.locks > 0.25 { return "locks of the database" }
  if waits.disk > 0.4 { return "the database's disk" }
  let sum = used.reduce(0, +)
  let portion = Int((100 * used[busiest] / max(sum, 0.001)).rounded())
  if sum > 0.8 * cores * seconds { return "the machine: \(names[busiest]) \(portion) % of it" }
  return "none of them: \(Int((100 * sum / (cores * seconds)).rounded())) % of the machine"
}

/// Samples of the wait events of the recorders' connections in the database, ten per second.
private final class LockWaits {
  struct Share {
    /// Shares of the samples of active connections.
    var locks: Double
    var disk: Double
  }

  private let child: Child
  private let path: String

  @MainActor init(_ url: String) {
    path = "\(directory)/waits"
    unlink(path)
    let sql = """
      SELECT coalesce(wait_event_type, 'none') FROM pg_stat_activity WHERE application_name = 'odograph' AND state = 'active'
      """
    let script = "\(directory)/waits.sql"
    write(sql + " \\watch 0.1\n", to: script)
    child = Child(["sh", "-c", "exec psql -X -q -A -t '\(url)' <\(script) >\(path)"], quietly: true)
  }

  func end() -> Share {
    _ = child.end(SIGTERM)
    let looks = contents(of: path).split(separator: "\n").filter { !$0.contains("every") }
    func share(_ kind: String) -> Double {
      looks.isEmpty ? 0 : Double(looks.filter { $0 == kind }.count) / Double(looks.count)
    }
    // A wait for space in the WAL is a wait for its disk.
    return Share(locks: share("Lock"), disk: share("IO") + share("LWLock"))
  }
}

@MainActor private func storedRows(_ url: String) -> Int {
  let path = "\(directory)/rows"
  let sql = "SELECT count(*) FROM odograph.messages"
  _ = Child(["sh", "-c", "exec psql -X -q -A -t -c '\(sql)' '\(url)' >\(path)"]).wait(atMost: 600)
  return Int(contents(of: path).filter(\.isNumber)) ?? -1
}

/// Returns the number of messages, and deletes them.
@MainActor private func rowsAndClear(_ url: String) -> Int {
  let rows = storedRows(url)
  _ = Child([
    "psql", "-q", "-c", "SET client_min_messages = error; DROP SCHEMA odograph CASCADE", "-c", "CHECKPOINT",
    url,
  ]).wait(atMost: 120)
  return rows
}
