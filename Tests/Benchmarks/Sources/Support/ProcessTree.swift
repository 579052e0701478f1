internal import Glibc

/// A process with all its descendants.
package enum ProcessTree {
  /// Processor time in s so far: of running processes, and of exited ones that were waited for.
  package static func processorTime(of root: Int32) -> Double {
    var parents: [pid_t: pid_t] = [:]
    var ticks: [pid_t: (own: Double, ended: Double)] = [:]
    guard let folder = opendir("/proc") else { return .nan }
    defer { closedir(folder) }
    while let entry = readdir(folder) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
        pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
      guard let id = pid_t(name) else { continue }
      // The name, which may contain spaces, ends at the last parenthesis; it is followed by state and parent.
      let fields = contents(of: "/proc/\(id)/stat").split(separator: ")").last?.split(separator: " ") ?? []
      guard fields.count > 15, let parent = pid_t(fields[1]) else { continue }
      parents[id] = parent
      let times = fields[11..<15].map { Double($0) ?? 0 }
      ticks[id] = (times[0] + times[1], times[2] + times[3])
    }
    var sum = 0.0
    for (id, time) in ticks {
      var ancestor: pid_t? = id
      while let current = ancestor, current != root { ancestor = parents[current] }
      if ancestor == root { sum += time.own + time.ended }
    }
    return sum / Double(sysconf(Int32(_SC_CLK_TCK)))
  }
}
