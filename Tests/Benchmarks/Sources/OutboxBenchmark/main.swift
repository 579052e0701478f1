import Glibc
import StoreAndForward
import Support
import Telemetry

// Prints CSV to stdout: the rates at which records are accepted and drained, with the number of commits and the peak memory.
//
//   outbox-benchmark [RECORDS] [FOLDER]
//
// Each case runs in its own process, so that its peak memory is separate.

let arguments = CommandLine.arguments
if arguments.count == 5, let count = Int(arguments[2]) {
  runCase(arguments[1], count, Int(arguments[3]) ?? 1, folder: arguments[4])
} else {
  let count = arguments.count > 1 ? Int(arguments[1]) ?? 1_000_000 : 1_000_000
  let folder = arguments.count > 2 ? arguments[2] : "/tmp"
  printLine("case,records,records_per_second,commits,peak_rss_mb")
  for (name, records, group) in [
    ("accept-events-single", 2000, 1), ("accept-events-group", 100_000, 100),
    ("accept-tracks-single", 20_000, 1),
    ("accept-tracks-group", 100_000, 100), ("drain", 1000, 1000), ("drain", 100_000, 1000),
    ("drain", count, 1000),
  ] {
    runInProcess([arguments[0], name, "\(records)", "\(group)", folder])
  }
}

func runInProcess(_ arguments: [String]) {
  var argv = arguments.map { strdup($0) } + [nil]
  var id: pid_t = 0
  posix_spawnp(&id, "/proc/self/exe", nil, nil, &argv, environ)
  waitpid(id, nil, 0)
}

func now() -> Double {
  var time = timespec()
  clock_gettime(CLOCK_MONOTONIC, &time)
  return Double(time.tv_sec) + 1e-9 * Double(time.tv_nsec)
}

func peakMemory() -> Double {
  var usage = rusage()
  getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
  return Double(usage.ru_maxrss) / 1024
}

func runCase(_ name: String, _ count: Int, _ group: Int, folder: String) {
  let path = "\(folder)/outbox-benchmark-\(getpid()).sqlite"
  defer { for suffix in ["", "-wal", "-shm", ".lock"] { unlink(path + suffix) } }
  var limits = OutboxConfiguration()
  limits.events.bytes = 1 << 40
  limits.tracks.bytes = 1 << 40
  let payload = [UInt8](repeating: 0x78, count: 200)
  let lane: DeliveryLane = name.contains("tracks") ? .tracks : .events
  let fill = { (outbox: Outbox) in
    for start in stride(from: 0, to: count, by: group) {
      outbox.append(
        (start..<min(start + group, count)).map { _ in
          Publication(topic: "odograph/v1/fleet/vehicle/motion", payload: payload, lane: lane, retain: false)
        })
    }
  }
  do {
    let outbox = try Outbox(path: path, configuration: limits)
    var start = now()
    fill(outbox)
    if name == "drain" {
      start = now()
      var left = count
      while left > 0 {
        let records = outbox.next(limit: 100)
        outbox.remove(records.map(\.seq))
        left -= records.count
      }
      outbox.flush()
    }
    let seconds = now() - start
    let memory = (peakMemory() * 10).rounded() / 10
    printLine("\(name),\(count),\(Int(Double(count) / seconds)),\(outbox.status.commits),\(memory)")
    outbox.close()
  } catch {
    complain("\(error)")
    exit(1)
  }
}
