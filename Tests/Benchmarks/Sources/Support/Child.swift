internal import Glibc

/// A child process of the benchmark, which is measured.
package final class Child {
  package let processID: Int32
  /// Peak resident memory in MB; available after the end.
  package private(set) var peakResident = Double.nan
  /// User and kernel processor time in s; available after the end.
  package private(set) var processorTime = Double.nan

  /// - Parameter quietly: discards stderr, which is inherited otherwise. stdout is always discarded.
  package init(_ arguments: [String], quietly: Bool = false) {
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

  /// Waits until the process has exited, and kills it after `seconds`. Returns true if it exited with status 0.
  package func wait(atMost seconds: Double) -> Bool {
    let deadline = now() + seconds
    while now() < deadline {
      if let status = reap(WNOHANG) { return status == 0 }
      usleep(1000)
    }
    _ = end(SIGKILL)
    return false
  }

  package func end(_ signal: Int32) -> Int32 {
    kill(processID, signal)
    return reap(0) ?? -1
  }

  /// Peak resident memory in MB so far.
  package var highWater: Double {
    let line = contents(of: "/proc/\(processID)/status").split(separator: "\n").first {
      $0.hasPrefix("VmHWM:")
    }
    let number = line?.split(separator: " ").dropFirst().first.flatMap { Double($0) }
    return (number ?? .nan) / 1024
  }

  /// Processor time in s so far, of the process and of its children that have exited.
  package var processorTimeSoFar: Double {
    // The name, which may contain spaces, ends at the parenthesis; it is followed by the state, ten numbers, and four times in ticks.
    let fields =
      contents(of: "/proc/\(processID)/stat").split(separator: ")").last?.split(separator: " ") ?? []
    guard fields.count > 15 else { return .nan }
    return fields[11..<15].reduce(0) { $0 + (Double($1) ?? .nan) } / Double(sysconf(Int32(_SC_CLK_TCK)))
  }

  private func reap(_ options: Int32) -> Int32? {
    var status: Int32 = 0
    var usage = rusage()
    guard wait4(processID, &status, options, &usage) == processID else { return nil }
    peakResident = Double(usage.ru_maxrss) / 1024
    processorTime = [usage.ru_utime, usage.ru_stime].reduce(0) {
      $0 + Double($1.tv_sec) + 1e-6 * Double($1.tv_usec)
    }
    return status
  }
}
