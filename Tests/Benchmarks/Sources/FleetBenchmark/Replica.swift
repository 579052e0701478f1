import Glibc
import Support

// Response times of a streaming replica while four recorders write to its primary, compared with those of a single database without
// writers: the same queries of the same rows.

/// Messages per second that the recorders receive during the queries.
private let replicaRate = 2900

/// Response times of a query, ms.
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
  guard let primary = PostgreSQL(in: directory) else { return complain("PostgreSQL is not installed") }
  defer { primary.end() }
  let rounds = max(rounds, 7)
  _ = run(psql(primary), FormerSchemas.postgreSQL(days: fleet.days) + fleet.postgreSQL)
  prepareStore(primary.url)
  _ = run(psql(primary), "VACUUM ANALYZE")
  guard let replica = PostgreSQL(replicaOf: primary, in: directory) else {
    return complain("the replica does not start")
  }
  defer { replica.end() }
  /// Queries alternate, so that all of them are affected alike by other load on the machine.
  func ask(_ server: PostgreSQL) -> [Latency] {
    let script = "\\timing on\n" + Question.allCases.map { $0.postgreSQL(isFormer: false) + ";\n" }.joined()
    var times = Question.allCases.map { _ in [Double]() }
    for round in 0...rounds {
      let said = run(psql(server), script).split(separator: "\n").filter { $0.hasPrefix("Time: ") }
      // The first round reads from the disk.
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
  /// Simulates as many vehicles as the rows have; nil if their messages do not reach the database.
  func drive(until count: Int) -> Child? {
    let load = Child(
      odograph(
        "simulate", port: "\(broker.port)",
        ["--vehicles", "100", "--rate", "\(Double(replicaRate) / 100)", "--seconds", "3600"]),
      quietly: true)
    let deadline = now() + 120
    while stored(primary) < count {
      guard now() < deadline else {
        complain("the recorders store no messages")
        _ = load.end(SIGKILL)
        return nil
      }
      usleep(300_000)
    }
    return load
  }
  // The simulated vehicles have been registered, and are silent while there are no writers.
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

/// Messages of the simulated fleet; the prepared rows are older.
@MainActor private func stored(_ server: PostgreSQL) -> Int {
  Int(
    run(psql(server), "SELECT count(*) FROM odograph.messages WHERE time > now() - interval '1 day'").filter(
      \.isNumber)) ?? 0
}
