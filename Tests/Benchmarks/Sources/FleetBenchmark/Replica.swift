import Glibc
import Support

// What a streaming replica answers while four recorders write to its primary, beside what one database answers that nobody
// writes to: the same questions to the same rows.

/// Messages a second that the recorders get in the meantime.
private let replicaRate = 2900

/// Times of a question in milliseconds.
private struct Latency {
  var median: Double
  var worst: Double

  init(_ times: [Double]) {
    let sorted = times.sorted()
    (median, worst) = (sorted.isEmpty ? .nan : sorted[sorted.count / 2], sorted.last ?? .nan)
  }
}

@MainActor func measureReplica() {
  let fleet = Fleet(rows: rowCount)
  guard let primary = PostgreSQL(in: directory) else { return complain("no PostgreSQL is installed") }
  defer { primary.end() }
  let rounds = max(rounds, 7)
  _ = run(psql(primary), FormerSchemas.postgreSQL(days: fleet.days) + fleet.postgreSQL)
  prepareStore(primary.url)
  _ = run(psql(primary), "VACUUM ANALYZE")
  guard let replica = PostgreSQL(replicaOf: primary, in: directory) else {
    return complain("no replica starts")
  }
  defer { replica.end() }
  /// Each question in turn, so that all of them see the same times of the machine.
  func ask(_ server: PostgreSQL) -> [Latency] {
    let script = "\\timing on\n" + Question.allCases.map { $0.postgreSQL(isFormer: false) + ";\n" }.joined()
    var times = Question.allCases.map { _ in [Double]() }
    for round in 0...rounds {
      let said = run(psql(server), script).split(separator: "\n").filter { $0.hasPrefix("Time: ") }
      // The first one reads from the disk.
      guard round > 0, said.count == times.count else { continue }
      for (index, line) in said.enumerated() {
        if let time = Double(line.split(separator: " ")[1]) { times[index].append(time) }
      }
    }
    return times.map(Latency.init)
  }
  let broker = Broker(in: directory)
  defer { broker.end() }
  let recorders = (0..<4).map { _ in
    Child(odograph("record", port: "\(broker.port)", ["--share", "replica", "--quiet", primary.url]))
  }
  defer { for recorder in recorders { _ = recorder.end(SIGTERM) } }
  broker.waitForSubscription(of: "odograph-record", times: 4)
  /// Lets as many vehicles report as the rows are of; nil where that does not reach the database.
  func drive(until count: Int) -> Child? {
    let load = Child(
      odograph(
        "simulate", port: "\(broker.port)",
        ["--vehicles", "100", "--rate", "\(Double(replicaRate) / 100)", "--seconds", "3600"]),
      quietly: true)
    let deadline = now() + 120
    while stored(primary) < count {
      guard now() < deadline else {
        complain("the recorders store nothing")
        _ = load.end(SIGKILL)
        return nil
      }
      usleep(300_000)
    }
    return load
  }
  // Those vehicles are known, and silent, while nobody else writes.
  guard let first = drive(until: replicaRate) else { return }
  _ = first.end(SIGINT)
  _ = run(psql(primary), "VACUUM ANALYZE odograph.latest; CHECKPOINT")
  let alone = ask(primary)
  let idle = ask(replica)
  guard let load = drive(until: 5 * replicaRate) else { return }
  defer { _ = load.end(SIGINT) }
  let (begin, before) = (now(), stored(primary))
  let beside = ask(replica)
  let behind = run(
    psql(replica), "SELECT round(extract(epoch FROM now() - pg_last_xact_replay_timestamp())::numeric, 3)"
  ).split(separator: "\n").first.map(String.init)
  let rate = Double(stored(primary) - before) / (now() - begin)
  printLine("question,alone_ms,worst,replica_ms,worst,replica_beside_recorders_ms,worst,ratio")
  for (index, question) in Question.allCases.enumerated() {
    let (one, two, three) = (alone[index], idle[index], beside[index])
    let figures = [one.median, one.worst, two.median, two.worst, three.median, three.worst]
    let ratio = (three.median / one.median * 100).rounded() / 100
    printLine("\(question.rawValue),\(figures.map(tenths).joined(separator: ",")),\(ratio)")
  }
  printLine("recorded_per_second,\(Int(rate))")
  printLine("replica_behind_s,\(behind ?? "nan")")
}

@MainActor private func psql(_ server: PostgreSQL) -> String {
  "psql -X -q -A -t -v ON_ERROR_STOP=1 '\(server.url)'"
}

/// Messages of the simulated fleet: the rows of the benchmark are older.
@MainActor private func stored(_ server: PostgreSQL) -> Int {
  Int(
    run(psql(server), "SELECT count(*) FROM odograph.messages WHERE time > now() - interval '1 day'").filter(
      \.isNumber)) ?? 0
}
