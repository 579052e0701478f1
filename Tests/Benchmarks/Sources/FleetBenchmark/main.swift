import CPeers
import Glibc
import Support

// Prints CSV to stdout: the rates at which readers of a fleet receive the messages of one publisher through one broker, each in its own
// process, alternating in the same run.
//
//   fleet-benchmark [--messages N] [--rounds N] [--memory N] [--rows N] [--odograph FILE] [CASE ...]
//
// Cases:
// - record: QoS 1, into SQLite, PostgreSQL and PostgreSQL with PostGIS, compared with a C program that acknowledges and stores nothing;
//   --odograph FILE measures another build of the command
// - tail: QoS 0, compared with mosquitto_sub -F %j
// - stats: QoS 0, compared with mosquitto_sub
// - memory: resident memory of `record` after up to N messages; ten million with --memory 10000000
// - query [postgresql] [sqlite]: as the only case: queries of a recording with --rows rows (default five million) in the former and in the
//   current schema; requires psql and sqlite3
// - scale: as the only case: one, two and four recorders into one PostgreSQL, by --share of mosquitto and by --from of RabbitMQ; requires
//   psql
// - replica: as the only case: queries of --rows rows (default five million) in a database without writers, and in a streaming replica
//   while four recorders write to its primary

var messages = 200_000
var rounds = 3
var memoryMessages = 1_000_000
var rowCount = 5_000_000
var otherOdograph: String?
var cases: [String] = []
var rest = CommandLine.arguments.dropFirst()

if rest.first == "--child" {
  exit(runChild(Array(rest.dropFirst())))
}
while let argument = rest.popFirst() {
  switch argument {
  case "--messages": messages = rest.popFirst().flatMap { Int($0) } ?? messages
  case "--rounds": rounds = rest.popFirst().flatMap { Int($0) } ?? rounds
  case "--memory": memoryMessages = rest.popFirst().flatMap { Int($0) } ?? memoryMessages
  case "--odograph": otherOdograph = rest.popFirst()
  case "--rows": rowCount = rest.popFirst().flatMap { Int($0) } ?? rowCount
  default: cases.append(argument)
  }
}
if cases.isEmpty { cases = ["record", "tail", "stats", "memory"] }

let directory = temporaryDirectory()
setenv("XDG_STATE_HOME", directory, 1)
defer { remove(directory) }

if cases.first == "query" {
  measureQueries(cases.count > 1 ? Array(cases.dropFirst()) : ["postgresql", "sqlite"])
} else if cases.first == "scale" {
  measureScaling()
} else if cases.first == "replica" {
  measureReplica()
} else {
  printLine("case,reader,messages_per_second,peak_rss_mb")
  if cases.contains("record") { measureRecord() }
  if cases.contains("tail") { measureTail() }
  if cases.contains("stats") { measureStats() }
  if cases.contains("memory") { measureMemory() }
}
