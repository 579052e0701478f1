import Foundation
import Pipeline
import Platform
import Positioning
import Prometheus
import Sensors
import Spatial
import Telemetry
import TestSupport
import Testing

@testable import AgentCore

/// Metrics in the format of Prometheus.
@Suite struct AgentMetricsTests {
  private var snapshot: AgentSnapshot {
    let time = UTCTime(nanoseconds: 1_795_248_000_000_000_000)
    var status = StatusMessage(state: .online, time: time, sessionStart: time)
    status.version = "1.2"
    status.uptime = 86_400.5
    status.counters = [
      "queue.records": 7, "queue.events": 2, "queue.tracks": 5, "queue.dead": 1, "messages.acknowledged": 40,
      "messages.rejected": 1, "dropped.space": 3, "connections": 2, "fixes": 1234,
    ]
    status.sources = [
      .init(name: "gpsd \"a\\b\"\nc", state: "unavailable", reason: "gone"),
      .init(name: "iio", state: "active"),
    ]
    status.odometer = OdometerReading(distance: 48_211_033, estimated: 1204)
    status.energy = EnergyReport([
      .radio: EnergyAccount(seconds: 1, starts: 2, bytes: 300, joules: 1.5),
      .receiver: EnergyAccount(joules: 70),
    ])
    var activity = SensorActivity()
    for second in 0..<12 {
      activity.observe(
        .inertial(
          (0..<10).map {
            InertialScan(
              timestamp: Timestamp(seconds: Double(second) + Double($0) / 10), acceleration: Vector3(0, 0, -1)
            )
          }))
    }
    return AgentSnapshot(
      taken: .start, vehicle: "f/v", preset: "car", status: status,
      activity: activity.kinds(at: Timestamp(seconds: 14)),
      motion: MotionReport(frame: .xMagneticNorthZVertical, unavailable: [], isAtRest: false),
      link: LinkReport(broker: "b:1883", isConnected: true, keepAlive: 30, isInBursts: false))
  }

  @Test func servicesForOtherProgramsHaveMetrics() {
    #expect(!MetricsText(snapshot).text.contains("odograph_local_"))
    #expect(!MetricsText(snapshot).text.contains("odograph_sensor_proxy_"))
    var snapshot = snapshot
    snapshot.local = [.init(name: "nmea 127.0.0.1:1", connections: 3, watching: 2, refused: 1, dropped: 5)]
    snapshot.localReceiverSeconds = 12.5
    snapshot.sensorProxy = .init(isConnected: true, accelerometer: 2)
    let text = MetricsText(snapshot).text
    for line in [
      "odograph_local_connections{service=\"nmea 127.0.0.1:1\"} 3",
      "odograph_local_watching{service=\"nmea 127.0.0.1:1\"} 2",
      "odograph_local_refused_total{service=\"nmea 127.0.0.1:1\"} 1",
      "odograph_local_dropped_total{service=\"nmea 127.0.0.1:1\"} 5",
      "odograph_local_receiver_seconds_total 12.5", "odograph_sensor_proxy_connected 1",
      "odograph_sensor_proxy_claims{sensor=\"accelerometer\"} 2",
      "odograph_sensor_proxy_claims{sensor=\"compass\"} 0",
    ] {
      #expect(text.contains(line + "\n"), "\(line)")
    }
  }

  @Test func metricsMatchTheSnapshot() {
    let text = MetricsText(snapshot).text
    for line in [
      "odograph_build_info{version=\"1.2\",vehicle=\"f/v\"} 1", "odograph_uptime_seconds 86400.5",
      "odograph_sensor_samples_total{kind=\"accelerometer\"} 120",
      "odograph_sensor_rate_hertz{kind=\"accelerometer\"} 10", "odograph_queue_records{lane=\"tracks\"} 5",
      "odograph_source_up{source=\"gpsd \\\"a\\\\b\\\"\\nc\"} 0", "odograph_dead_letters 1",
      "odograph_messages_total{outcome=\"acknowledged\"} 40", "odograph_dropped_total{reason=\"space\"} 3",
      "odograph_events_total{event=\"fixes\"} 1234", "odograph_broker_connected 1",
      "odograph_link_bytes_total 300", "odograph_energy_joules_total{component=\"radio\"} 1.5",
      "odograph_odometer_meters 48211033", "odograph_odometer_estimated_meters 1204",
    ] {
      #expect(text.split(separator: "\n").contains(Substring(line)), "\(line) in \(text)")
    }
    #expect(!text.contains("odograph_location_age_seconds"))
  }

  /// Checks the rules of the text format and the naming rules of Prometheus without its parser.
  @Test func metricsFollowTheFormat() throws {
    var types: [Substring: Substring] = [:]
    var helped: Set<Substring> = []
    var series: Set<Substring> = []
    var current: Substring = ""
    for line in MetricsText(snapshot).text.split(separator: "\n") {
      let words = line.split(separator: " ", maxSplits: 3)
      if line.hasPrefix("# HELP ") {
        #expect(helped.insert(words[2]).inserted, "\(line)")
      } else if line.hasPrefix("# TYPE ") {
        #expect(helped.contains(words[2]) && types[words[2]] == nil)
        (types[words[2]], current) = (words[3], words[2])
      } else {
        let match = try #require(
          line.wholeMatch(
            of:
              /([a-z][a-z0-9_]*)(\{[a-z_]+="(?:[^"\\]|\\.)*"(?:,[a-z_]+="(?:[^"\\]|\\.)*")*\})? (-?[0-9.e+-]+)/
          ),
          "\(line)")
        // All lines of a metric family are contiguous.
        #expect(match.1 == current && series.insert(line.dropLast(match.3.count)).inserted, "\(line)")
        #expect(Double(match.3) != nil)
      }
    }
    #expect(types.count > 12)
    for (name, type) in types {
      #expect(name.hasPrefix("odograph_") && name.hasSuffix("_total") == (type == "counter"), "\(name)")
    }
  }

  @Test func metricsFileIsWrittenAtomicallyAndWorldReadable() throws {
    let folder = try TemporaryDirectory()
    let path = folder.file("odograph.prom")
    let log = AgentLog.make(level: "error")
    let file = MetricsFile(path: path, interval: 1)
    file.write(nil, log: log)
    #expect(!FileManager.default.fileExists(atPath: path))
    file.write(snapshot, log: log)
    #expect(try String(contentsOfFile: path, encoding: .utf8) == MetricsText(snapshot).text)
    #expect(try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int == 0o644)
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["odograph.prom"])
    // A missing folder does not stop the agent.
    MetricsFile(path: folder.file("none/odograph.prom"), interval: 1).write(snapshot, log: log)
  }

  @Test func metricsFileNameIsValidated() throws {
    #expect(throws: ConfigurationError.self) {
      try AgentConfiguration(settings: ["vehicle.id=v", "metrics.file=/tmp/metrics"])
    }
  }
}
