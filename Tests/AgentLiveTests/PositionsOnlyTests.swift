import Foundation
import SensorFixtures
import Sensors
import Simulation
import Spatial
import TestSupport
import Testing

/// A receiver that reports positions without speed (GGA), through a real gpsd, and an inertial sensor. The live
/// agent publishes the same as a replay of the same sentences and samples.
@Suite(.serialized) struct PositionsOnlyTests {
  /// False: without date. True: with the date (ZDA), from which gpsd derives a speed that the agent ignores.
  private static let forms = [false, true]
  private static let length = 47

  /// A drive: at rest for 5.5 s, then bends and changes of speed.
  private struct Drive {
    let samples: [SyntheticDrive.Sample]
    let epochs: [LiveReceiver.Epoch]

    init() {
      // A fixed seed: the time until navigation is aligned depends on the drive, and the test has one minute.
      var generator = SeededGenerator(seed: 1)
      var drive = SyntheticDrive(rate: 50, length: Double(PositionsOnlyTests.length) + 20)
      (drive.restTime, drive.fixRate, drive.fixNoise) = (-12, 1, 0.5)
      samples = drive.samples(&generator)
      var number = 0
      epochs = samples.compactMap(\.fix).compactMap { fix in
        guard let place = fix.coordinate else { return nil }
        var epoch = LiveReceiver.Epoch(
          latitude: place.latitude, longitude: place.longitude, speed: 0, course: 0)
        number += 1
        // The dilution of precision varies, so that the agent detects that gpsd computes its error from it.
        epoch.dilution = 0.8 + 0.05 * Double(number % 7)
        return epoch
      }
    }

    /// The sample at a time in s.
    func reading(_ time: Double) -> EmulatedIIOD.Reading {
      let scan = samples[min(max(0, Int(time * 50)), samples.count - 1)].scan
      return EmulatedIIOD.Reading(
        specificForce: scan.specificForce ?? .zero, rotationRate: scan.rotationRate ?? .zero)
    }

    /// The distance driven in m until a time in s.
    func distance(until time: Double) -> Double {
      samples.filter { $0.truth.time <= time }.reduce(0) { $0 + $1.truth.speed / 50 }
    }

    /// The sentences from a UTC second on.
    func sentences(from start: Int, isDated: Bool) -> String {
      String(
        decoding: epochs.prefix(PositionsOnlyTests.length).enumerated().flatMap {
          $1.positions(start + $0, isDated: isDated)
        }, as: UTF8.self)
    }

    var csv: String {
      var text = "t,ax,ay,az,gx,gy,gz\n"
      for sample in samples where sample.truth.time < Double(PositionsOnlyTests.length) {
        text += String(format: "%.3f", sample.truth.time)
        for vector in [sample.scan.specificForce, sample.scan.rotationRate] {
          for axis in 0..<3 { text += String(format: ",%.9f", vector?[axis] ?? 0) }
        }
        text += "\n"
      }
      return text
    }
  }

  private static let settings = [
    "iio.latency": "0.1", "heading.enabled": "false", "attitude.enabled": "false", "status.interval": "10",
    "location.pauses_automatically": "false", "trips.interval": "10", "mqtt.broker": "mqtt://127.0.0.1:1",
  ]

  @Test(.timeLimit(.minutes(3)), .needs(.gpsd)) func liveEqualsReplay() throws {
    let drive = Drive()
    let receivers = try Self.forms.map {
      try LiveReceiver(at: drive.epochs[0], language: .positions(isDated: $0))
    }
    let sensors = try EmulatedIIOD([EmulatedIIOD.Chip("imu", [.accelerometer, .gyroscope])])
    let agents = try receivers.map { receiver in
      try AgentProcess(
        Self.settings.merging([
          "input.mode": "hardware", "gpsd.port": "\(receiver.port)", "iio.contexts": sensors.uri,
        ]) { $1 }, print: true)
    }
    for agent in agents {
      #expect(waitUntil { agent.messages.contains { $0.kind == "location" } }, "\(agent.log)")
    }
    let start = Int(Date().timeIntervalSince1970) + 2
    for receiver in receivers { receiver.play(drive.epochs, from: start) }
    let offset = Date().timeIntervalSince1970 - Double(start)
    sensors.play { drive.reading($0 + offset) }
    _ = waitUntil(atMost: Double(Self.length) + 2) {
      Date().timeIntervalSince1970 >= Double(start + Self.length)
    }
    for agent in agents { #expect(agent.child.terminate() == 0, "\(agent.log)") }
    for (agent, isDated) in zip(agents, Self.forms) {
      let (live, replay) = (
        Run(agent, from: start), Run(try Self.replay(drive, from: start, isDated: isDated), from: start)
      )
      for run in [live, replay] { Self.check(run, drive) }
      #expect(live.reasons.contains { $0.contains("RMC or VTG") }, "\(live.reasons)")
      for second in 8..<Self.length - 2 {
        let (one, other) = (try #require(live.locations[second]), try #require(replay.locations[second]))
        let distance = one.place.distance(to: other.place)
        guard one.speed == nil, other.speed == nil else {
          #expect(distance < one.radius + other.radius, "second \(second): \(one), replay \(other)")
          continue
        }
        #expect(distance < 0.05, "second \(second): \(one), replay \(other)")
      }
      let end = Self.length - 3
      let (odometer, other) = (
        try #require(live.locations[end]?.odometer), try #require(replay.locations[end]?.odometer)
      )
      #expect(abs(odometer - other) <= 8, "\(odometer) m, replay \(other) m")
      let (aligned, expected) = (try #require(live.aligned), try #require(replay.aligned))
      #expect(abs(aligned - expected) <= 5, "aligned after \(aligned) s, replay \(expected) s")
      let (trip, expectedTrip) = (try #require(live.tripTime), try #require(replay.tripTime))
      #expect(abs(trip - expectedTrip) <= 3, "trip after \(trip) s, replay \(expectedTrip) s")
    }
  }

  /// Compares the messages of a run with the truth.
  private static func check(_ run: Run, _ drive: Drive) {
    let frame = LocalFrame(origin: SyntheticDrive.origin, altitude: SyntheticDrive.altitude)
    for (second, location) in run.locations where (1..<length).contains(second) {
      let truth = drive.samples[50 * second].truth
      let offset = frame.offset(of: location.place)
      let error = hypot(offset.x - truth.position.x, offset.y - truth.position.y)
      #expect(error < 2 * location.radius, "second \(second): \(location)")
      // Only navigation has a speed: gpsd's derived one has an error of metres per second.
      #expect((location.speed != nil) == location.isFused, "second \(second): \(location)")
      if let speed = location.speed {
        #expect(abs(speed - truth.speed) < 2, "second \(second): \(location), \(truth.speed) m/s")
      }
      guard second > 20 else { continue }
      let driven = drive.distance(until: Double(second))
      #expect(abs((location.odometer ?? 0) - driven) < 30, "second \(second): \(location), \(driven) m")
    }
    // A navigation state other than aligned has a reason.
    for state in run.navigation where state["state"] as? String == "waiting" {
      #expect(state["reason"] is String, "\(state)")
    }
    #expect(run.navigation.last?["state"] as? String == "aligned", "\(run.navigation)")
  }

  /// The messages of one agent.
  private struct Run {
    struct Location {
      var place: Coordinate
      var radius: Double
      /// Speed in m/s; nil if unknown.
      var speed: Double?
      var odometer: Double?
      var isFused: Bool
    }

    /// Locations by seconds since the start of the drive.
    private(set) var locations: [Int: Location] = [:]
    private(set) var navigation: [[String: Any]] = []
    /// Reasons of active sources in `status`.
    private(set) var reasons: Set<String> = []
    /// Seconds until the first position by navigation, and until the first trip message.
    private(set) var aligned, tripTime: Double?

    init(_ agent: AgentProcess, from start: Int) {
      for message in agent.messages {
        guard let time = (message.payload["time"] as? String).flatMap({ UTCTime(rfc3339: $0) }) else {
          continue
        }
        let seconds = Double(time.nanoseconds) / 1e9 - Double(start)
        if message.kind == "trip" { tripTime = tripTime ?? seconds }
        if let state = message.payload["navigation"] as? [String: Any] { navigation.append(state) }
        for source in message.payload["sources"] as? [[String: Any]] ?? []
        where source["state"] as? String == "active" {
          if let reason = source["reason"] as? String { reasons.insert(reason) }
        }
        guard message.kind == "location", let latitude = message.latitude, let longitude = message.longitude
        else { continue }
        let location = Location(
          place: Coordinate(latitude: latitude, longitude: longitude),
          radius: message.payload["horizontalAccuracy"] as? Double ?? 0,
          speed: message.payload["speed"] as? Double, odometer: message.payload["odometer"] as? Double,
          isFused: message.payload["positionSource"] as? String == "fused")
        if location.isFused { aligned = aligned ?? seconds }
        locations[Int(seconds.rounded())] = location
      }
    }
  }

  private static func replay(_ drive: Drive, from start: Int, isDated: Bool) throws -> AgentProcess {
    let directory = try TemporaryDirectory()
    let agent = try AgentProcess(
      settings.merging([
        "input.mode": "replay", "input.speed": "0",
        "replay.position": try directory.write(
          "positions.nmea", drive.sentences(from: start, isDated: isDated)),
        "replay.sensors": try directory.write("samples.csv", drive.csv),
        "replay.date": ISO8601DateFormatter().string(from: Date(timeIntervalSince1970: Double(start))),
      ]) { $1 }, print: true, directory: directory)
    #expect(agent.child.waitForExit() == 0, "\(agent.log)")
    return agent
  }
}
