internal import Glibc
package import Logging
internal import Pipeline
internal import Platform
internal import Positioning
internal import Prometheus
internal import Sensors
internal import Telemetry

/// The agent's metrics for Prometheus.
extension MetricsText {
  init(_ snapshot: AgentSnapshot) {
    self.init()
    agent(snapshot)
    sensors(snapshot)
    location(snapshot)
    delivery(snapshot)
    local(snapshot)
    energy(snapshot.status.energy)
    device(snapshot.status.device)
  }

  private mutating func agent(_ snapshot: AgentSnapshot) {
    family(
      "build_info", .gauge, "Constant 1, labelled with the agent's version and vehicle.",
      [([("version", snapshot.status.version ?? ""), ("vehicle", snapshot.vehicle)], 1)])
    gauge("uptime_seconds", "Seconds since the agent started.", snapshot.status.uptime)
  }

  private mutating func sensors(_ snapshot: AgentSnapshot) {
    let kinds = snapshot.activity.sorted { $0.key < $1.key }
    func samples(_ value: (SensorActivity.Kind) -> Double?) -> [Sample] {
      kinds.map { ([("kind", $0.key.rawValue)], value($0.value)) }
    }
    family(
      "sensor_samples_total", .counter, "Samples received of each kind of sensor.",
      samples { Double($0.samples) })
    family("sensor_rate_hertz", .gauge, "Rate of the samples over the last seconds.", samples { $0.rate })
    family("sensor_age_seconds", .gauge, "Seconds since the newest sample.", samples { $0.age })
    family(
      "source_up", .gauge, "Whether a source reaches its hardware.",
      snapshot.status.sources.map { ([("source", $0.name)], $0.state == "unavailable" ? 0 : 1) })
  }

  private mutating func location(_ snapshot: AgentSnapshot) {
    gauge(
      "location_age_seconds", "Seconds since the newest location that may be published.", snapshot.locationAge
    )
    gauge(
      "location_accuracy_meters", "Horizontal accuracy of the newest location.",
      snapshot.location?.location.horizontalAccuracy)
    // A gauge, because the reading can be set to that of the instrument panel.
    gauge(
      "odometer_meters", "Odometer reading, unless it is private.", snapshot.status.odometer?.distance
    )
    gauge(
      "odometer_estimated_meters", "Estimated part of the odometer.",
      snapshot.status.odometer?.estimated)
  }

  private mutating func delivery(_ snapshot: AgentSnapshot) {
    let counters = snapshot.status.counters
    func labelled(_ label: String, _ prefix: String) -> [Sample] {
      counters.filter { $0.key.hasPrefix(prefix) }.sorted { $0.key < $1.key }.map {
        ([(label, String($0.key.dropFirst(prefix.count)))], Double($0.value))
      }
    }
    let lanes = labelled("lane", "queue.").filter { !["records", "dead"].contains($0.labels[0].1) }
    family("queue_records", .gauge, "Messages that wait for the broker.", lanes)
    gauge(
      "dead_letters", "Stored messages that the broker has rejected permanently.",
      counters["queue.dead"].map(Double.init))
    family("messages_total", .counter, "Messages by the broker's response.", labelled("outcome", "messages."))
    family("dropped_total", .counter, "Dropped messages, by reason.", labelled("reason", "dropped."))
    family(
      "events_total", .counter, "Other counts of the agent, as in the message status.",
      counters.filter { name, _ in
        !["queue.", "messages.", "dropped."].contains { name.hasPrefix($0) } && name != "connections"
      }.sorted { $0.key < $1.key }.map { ([("event", $0.key)], Double($0.value)) })
    gauge(
      "store_durable", "1 if accepted messages are stored on the disk.",
      snapshot.link.map { _ in
        snapshot.status.storeProblem == nil ? 1 : 0
      })
    gauge("broker_connected", "Whether a broker is connected.", snapshot.link.map { $0.isConnected ? 1 : 0 })
    counter("broker_connections_total", "Connections that a broker accepted.", counters["connections"])
    let radio = snapshot.status.energy?.accounts[.radio]
    counter("link_bytes_total", "Bytes sent and received.", radio?.bytes)
    counter("link_bursts_total", "Number of changes from an idle to an active link.", radio?.starts)
  }

  private mutating func local(_ snapshot: AgentSnapshot) {
    if let proxy = snapshot.sensorProxy {
      gauge(
        "sensor_proxy_connected", "Whether orientation and compass are on D-Bus.", proxy.isConnected ? 1 : 0)
      family(
        "sensor_proxy_claims", .gauge, "Programs that have claimed a sensor on D-Bus.",
        [
          ([("sensor", "accelerometer")], Double(proxy.accelerometer)),
          ([("sensor", "compass")], Double(proxy.compass)),
        ])
    }
    guard !snapshot.local.isEmpty else { return }
    func samples(_ value: KeyPath<LocalServer.Report, Int>) -> [Sample] {
      snapshot.local.map { ([("service", $0.name)], Double($0[keyPath: value])) }
    }
    family(
      "local_connections", .gauge, "Programs on this machine that are connected.", samples(\.connections))
    family("local_watching", .gauge, "Connected programs that request positions.", samples(\.watching))
    family("local_refused_total", .counter, "Connections above the maximum number.", samples(\.refused))
    family(
      "local_dropped_total", .counter, "Reports that were dropped for programs that did not read.",
      samples(\.dropped))
    family(
      "local_receiver_seconds_total", .counter, "Seconds for which programs required the receiver.",
      [([], snapshot.localReceiverSeconds)])
  }

  private mutating func energy(_ report: EnergyReport?) {
    let accounts = (report?.accounts ?? [:]).sorted { $0.key < $1.key }
    family(
      "energy_joules_total", .counter, "Energy, computed with the [energy] values of the configuration.",
      accounts.map { ([("component", $0.key.rawValue)], $0.value.joules) })
    family(
      "energy_active_seconds_total", .counter, "Seconds that a component was on.",
      accounts.map { ([("component", $0.key.rawValue)], $0.value.seconds) })
  }

  private mutating func device(_ device: DeviceHealth?) {
    gauge(
      "resident_memory_bytes", "Memory of the agent.", device?.memory?.resident.map(Double.init))
    gauge(
      "storage_free_bytes", "Free space of the file system that holds the store.",
      device?.storage.map { Double($0.free) })
    gauge("battery_ratio", "Charge of the battery, 0 to 1.", device?.battery?.level)
    gauge("temperature_celsius", "The hottest part that is measured.", device?.temperature)
  }
}

/// The file for node_exporter's textfile collector. It is written as a whole and never synced, because it is
/// worthless after a loss of power.
package final class MetricsFile {
  /// Interval between writes in s.
  package let interval: Double
  private let path: String
  private var hasFailed = false

  package init(path: String, interval: Double) {
    self.path = path
    self.interval = interval
  }

  /// Writes the metrics; without a snapshot it does nothing.
  package func write(_ snapshot: AgentSnapshot?, log: Logger) {
    guard let snapshot else { return }
    do throws(SystemError) {
      // The temporary name has another ending, which the collector ignores.
      try AtomicFile.write(
        Array(MetricsText(snapshot).text.utf8), to: path, mode: 0o644, isDurable: false)
      if hasFailed { log.notice(.metricsWritten, "metrics are written again", metadata: ["file": "\(path)"]) }
      hasFailed = false
    } catch {
      if !hasFailed {
        log.warning(.metricsNotWritten, "metrics not written", metadata: ["reason": "\(error)"])
      }
      hasFailed = true
    }
  }
}
