internal import Sensors
internal import Telemetry

/// How the agent stands, in one line for the service manager.
enum StatusLine {
  static func text(_ snapshot: AgentSnapshot) -> String {
    var parts: [String] = []
    if let age = snapshot.activity[.positioning]?.age {
      parts.append("position \(Int(max(0, age))) s old")
    } else {
      parts.append("no position yet")
    }
    if let link = snapshot.link {
      parts.append(link.isConnected ? "broker connected" : link.isInBursts ? "link closed" : "no broker")
      parts.append("\(snapshot.status.counters["queue.records"] ?? 0) queued")
    }
    if snapshot.status.storeProblem != nil { parts.append("store in memory only") }
    return parts.joined(separator: ", ")
  }
}
