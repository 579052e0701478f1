internal import Glibc
internal import JSON
internal import Pipeline
internal import Platform
internal import Sensors
internal import Spatial
internal import Telemetry

/// The output of `odographd status --json`: the snapshot, and information from outside the pipeline.
enum StatusDocument {
  /// - Parameters:
  ///   - snapshot: nil before the first one.
  ///   - stuck: names of stuck threads.
  static func json(_ snapshot: AgentSnapshot?, version: String, stuck: [String]) -> [UInt8] {
    JSONWriter.object { json in
      json.field("version", version)
      json.field("process", getpid())
      json.field("time", UTCTime.now.rfc3339)
      if !stuck.isEmpty { json.field("stuck", texts: stuck) }
      if let snapshot { write(snapshot, to: &json) }
      json.field("problems", objects: RecentProblems.all) { json, problem in
        json.field("time", problem.time.rfc3339)
        json.field("text", problem.text)
      }
    }
  }

  private static func write(_ snapshot: AgentSnapshot, to json: inout JSONWriter) {
    json.field("vehicle", snapshot.vehicle)
    json.field("preset", snapshot.preset)
    json.field("age", snapshot.taken.secondsElapsed, decimals: 3)
    json.field("sensors") { json in
      for (kind, activity) in snapshot.activity.sorted(by: { $0.key < $1.key }) {
        json.key(kind.rawValue)
        json.openObject()
        json.field("samples", activity.samples)
        json.field("rate", activity.rate, decimals: 3)
        json.field("age", activity.age, decimals: 3)
        json.closeObject()
      }
    }
    let motion = snapshot.motion
    json.field("motion") { json in
      json.field("frame", motion.frame.rawValue)
      json.field("attitude", motion.hasAttitude)
      json.field("headingAccuracy", motion.headingAccuracy, decimals: 1)
      json.field("calibration", motion.calibration.map { "\($0)" })
      json.field("atRest", motion.isAtRest)
      if !motion.unavailable.isEmpty { json.field("unavailable", texts: motion.unavailable) }
    }
    if let location = snapshot.location {
      json.key("location")
      json.raw(location.payload)
      json.field("locationAge", snapshot.locationAge, decimals: 3)
    }
    if let signals = snapshot.signals { json.field("bus") { signals.write(to: &$0) } }
    if let link = snapshot.link {
      json.field("broker") { json in
        json.field("address", link.broker)
        json.field("connected", link.isConnected)
        json.field("since", link.since?.secondsElapsed, decimals: 1)
        json.field("problem", link.problem)
        json.field("link", link.isInBursts ? "bursts" : "always")
        json.field("keepalive", link.keepAlive)
      }
    }
    if !snapshot.local.isEmpty {
      json.key("local")
      json.openArray()
      for service in snapshot.local { write(service, to: &json) }
      json.closeArray()
      json.field("localReceiverSeconds", snapshot.localReceiverSeconds, decimals: 1)
    }
    if let proxy = snapshot.sensorProxy {
      json.field("sensorProxy") { json in
        json.field("connected", proxy.isConnected)
        json.field("accelerometer", proxy.accelerometer)
        json.field("compass", proxy.compass)
        json.field("problem", proxy.problem)
      }
    }
    json.key("status")
    json.raw(snapshot.status.payload)
  }

  private static func write(_ service: LocalServer.Report, to json: inout JSONWriter) {
    json.openObject()
    json.field("service", service.name)
    json.field("connections", service.connections)
    json.field("watching", service.watching)
    json.field("accepted", service.accepted)
    json.field("refused", service.refused)
    json.field("dropped", service.dropped)
    json.field("disconnected", service.disconnected)
    json.closeObject()
  }
}
