import Foundation
import Sensors
import SensorsGPSD
import TestSupport
import Testing

/// Trips of a vehicle whose agent is killed while driving, as a subscriber receives them.
@Suite(.needs(.gpsd)) struct AgentTripKillTests {
  /// A receiver log at 1 Hz: 15 s parked, then drives of 40 s at 14 m/s, each followed by a stop of 80 s, which ends the trip.
  private struct Log {
    private(set) var lines = ""
    /// Driven distance in m and duration in s.
    private(set) var (way, seconds) = (0.0, 0)

    static let (parked, driven, stopped) = (15, 40, 80)
    static let sentencesPerSecond = 2.0

    init(trips: Int) {
      go(Self.parked, speed: 0)
      for _ in 0..<trips {
        go(Self.driven, speed: 14)
        go(Self.stopped, speed: 0)
      }
    }

    private mutating func go(_ count: Int, speed: Double) {
      for _ in 0..<count {
        way += speed
        // Northwards along the meridian 10° E.
        let latitude = 48 + way / 111_200
        let place = String(
          format: "48%09.6f,N,01000.000000,E", (latitude - 48) * 60)
        let time = String(
          format: "%02d%02d%02d.00", 8 + seconds / 3600, seconds / 60 % 60, seconds % 60)
        lines += GPSDFixture.sentence(
          "GPGGA,\(time),\(place),1,12,0.8,500.0,M,47.0,M,,")
        lines += GPSDFixture.sentence(
          "GPRMC,\(time),A,\(place),\(String(format: "%.2f", speed / 0.514444)),0.0,211126,,,A")
        seconds += 1
      }
    }
  }

  /// Identity of a trip message.
  private struct Key: Hashable {
    var (series, number, revision) = ("", 0, 0)

    init?(_ payload: [String: Any]) {
      guard let series = payload["series"] as? String, let number = payload["number"] as? Int,
        let revision = payload["revision"] as? Int
      else { return nil }
      (self.series, self.number, self.revision) = (series, number, revision)
    }
  }

  @Test(.timeLimit(.minutes(40))) func killsLoseAndAlterNoTrip() throws {
    let kills = ChaosExtent.cycles(short: 5, full: 200)
    let directory = try TemporaryDirectory()
    let log = Log(trips: max(1, kills / 20))
    let broker = try BrokerFixture()
    let gpsd = try GPSDFixture(
      log: try directory.write("drive.nmea", log.lines), secondsPerSentence: 1 / Log.sentencesPerSecond)
    // A permanent watch: without a client, gpsd would close the receiver and later deliver its pending sentences in one burst.
    let listener = GPSDListener()
    let source = try GPSDSource(GPSDAddress(port: gpsd.port))
    source.setDemand(always, for: .positioning)
    try source.start(listener.sink)
    let tail = try TailProcess(broker)
    let settings = [
      "mqtt.broker": "127.0.0.1:\(broker.port)", "input.mode": "hardware", "gpsd.port": "\(gpsd.port)",
      "iio.enabled": "false", "trips.stop": "60", "trips.interval": "3",
    ]
    func seconds() -> Int { listener.fixes.count }
    var agent = try AgentProcess(settings, directory: directory)
    // The kills start 8 s into the first drive and are spread evenly; with more than 20 kills, also over stops.
    let first = Log.parked + 8
    let last = log.seconds - Log.stopped + (kills > 20 ? 30 : -6)
    for kill in 0..<kills {
      let due = first + (last - first) * kill / kills
      #expect(waitUntil(atMost: 150) { seconds() >= due }, "no fix \(due): \(agent.log)")
      agent.child.kill()
      _ = agent.child.waitForExit()
      agent = try AgentProcess(settings, directory: directory)
    }
    func trips() -> [[String: Any]] { tail.messages.filter { $0.kind == "trip" }.map(\.payload) }
    let isOver = waitUntil(atMost: 150) {
      trips().contains { $0["phase"] as? String == "ended" } && seconds() >= log.seconds - 5
    }
    #expect(isOver, "\(seconds()) of \(log.seconds): \(agent.log)")
    agent.child.terminate()
    _ = agent.child.waitForExit()
    waitUntil(atMost: 30) { tail.messages.last { $0.kind == "status" }?.state == "offline" }
    tail.child.terminate()
    source.stop()
    gpsd.stop()
    try judge(trips(), tail.messages, way: log.way, kills: kills)
  }

  private func judge(_ trips: [[String: Any]], _ messages: [Message], way: Double, kills: Int) throws {
    var said: [Key: NSDictionary] = [:]
    var newest: [Int: (revision: Int, payload: [String: Any])] = [:]
    for trip in trips {
      let key = try #require(Key(trip))
      var content = trip
      (content["epoch"], content["seq"]) = (nil, nil)
      let before = said.updateValue(content as NSDictionary, forKey: key)
      #expect(
        before == nil || before == content as NSDictionary, "\(key): \(content), before \(before ?? [:])")
      if newest[key.number].map({ $0.revision < key.revision }) ?? true {
        newest[key.number] = (key.revision, trip)
      }
    }
    #expect(Set(said.keys.map(\.series)).count == 1)
    let numbers = newest.keys.sorted()
    #expect(numbers == Array(1...max(1, numbers.count)) && numbers.count == max(1, kills / 20), "\(numbers)")
    for (number, trip) in newest {
      #expect(trip.payload["phase"] as? String == "ended", "\(number)")
    }
    let sum = newest.values.reduce(0) { $0 + ($1.payload["distance"] as? Double ?? 0) }
    let odometers = messages.filter { $0.kind == "location" }.compactMap { $0.payload["odometer"] as? Double }
    let (first, last) = (try #require(odometers.min()), try #require(odometers.max()))
    print("\(kills) kills, \(numbers.count) trips: way \(way), odometer \(last - first), sum \(sum)")
    let lost = 1 + 10 * Double(kills)
    #expect(abs(sum - (last - first)) <= lost, "sum \(sum), odometer \(first)...\(last)")
    #expect(abs(sum - way) <= lost, "sum \(sum), way \(way)")
  }
}
