import Glibc

/// A process that the benchmark starts and measures.
final class Child {
  let processID: pid_t
  /// Megabytes that were resident at most; known after the end.
  private(set) var peakResident = Double.nan

  /// - Parameter quietly: without stderr, which is the benchmark's own otherwise; stdout goes nowhere.
  init(_ arguments: [String], quietly: Bool = false) {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0)
    if quietly { posix_spawn_file_actions_adddup2(&actions, 1, 2) }
    var argv = arguments.map { strdup($0) } + [nil]
    var id: pid_t = 0
    if posix_spawnp(&id, arguments[0], &actions, nil, &argv, environ) != 0 {
      complain("cannot start \(arguments[0])")
    }
    for pointer in argv { free(pointer) }
    posix_spawn_file_actions_destroy(&actions)
    processID = id
  }

  /// Waits for its end, or ends it after so many seconds. Returns whether it ended well by itself.
  func wait(atMost seconds: Double) -> Bool {
    let deadline = now() + seconds
    while now() < deadline {
      if let status = reap(WNOHANG) { return status == 0 }
      usleep(1000)
    }
    _ = end(SIGKILL)
    return false
  }

  func end(_ signal: Int32) -> Int32 {
    kill(processID, signal)
    return reap(0) ?? -1
  }

  /// Megabytes resident at most so far.
  var highWater: Double {
    let line = contents(of: "/proc/\(processID)/status").split(separator: "\n").first {
      $0.hasPrefix("VmHWM:")
    }
    let number = line?.split(separator: " ").dropFirst().first.flatMap { Double($0) }
    return (number ?? .nan) / 1024
  }

  private func reap(_ options: Int32) -> Int32? {
    var status: Int32 = 0
    var usage = rusage()
    guard wait4(processID, &status, options, &usage) == processID else { return nil }
    peakResident = Double(usage.ru_maxrss) / 1024
    return status
  }
}

func now() -> Double {
  var time = timespec()
  clock_gettime(CLOCK_MONOTONIC, &time)
  return Double(time.tv_sec) + 1e-9 * Double(time.tv_nsec)
}

func contents(of path: String) -> String {
  guard let file = fopen(path, "r") else { return "" }
  defer { fclose(file) }
  var bytes: [UInt8] = []
  var portion = [UInt8](repeating: 0, count: 65_536)
  while case let count = fread(&portion, 1, portion.count, file), count > 0 { bytes += portion[..<count] }
  return String(decoding: bytes, as: UTF8.self)
}

func write(_ text: String, to path: String) {
  guard let file = fopen(path, "w") else { return complain("cannot write \(path)") }
  fputs(text, file)
  fclose(file)
}

func complain(_ text: String) {
  let bytes = Array((text + "\n").utf8)
  _ = bytes.withUnsafeBytes { write(2, $0.baseAddress, $0.count) }
}

/// Prints a line at once: stdout is buffered in a pipe.
func say(_ line: String) {
  print(line)
  fflush(nil)
}
