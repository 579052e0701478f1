import Foundation
import Sensors
import Simulation
import Spatial
import TestSupport
import Testing

/// An agent with both services for programs on the same machine.
final class LocalAgent {
  let agent: AgentProcess
  let nmeaPort: UInt16
  let gpsdPort: UInt16

  init(_ settings: [String: String], environment: [String: String] = [:]) throws {
    nmeaPort = try FreePort.next()
    gpsdPort = try FreePort.next()
    agent = try AgentProcess(
      [
        "nmea.listen": "127.0.0.1:\(nmeaPort)", "gpsd_server.listen": "127.0.0.1:\(gpsdPort)",
        "location.pauses_automatically": "false", "mqtt.broker": "mqtt://127.0.0.1:1",
      ].merging(settings) { $1 }, print: true, environment: environment)
    #expect(
      waitUntil { GPSDFixture.isListening(nmeaPort) && GPSDFixture.isListening(gpsdPort) }, "\(agent.log)")
  }

  /// Settings of an agent that replays a drive with a tunnel, eight times as fast as recorded.
  /// - Parameter start: civil time of the recording; nil for 2026-11-21T08:00:00Z.
  static func tunnelSettings(in directory: TemporaryDirectory, start: UTCTime? = nil) throws
    -> [String: String]
  {
    var generator = SeededGenerator.announced()
    let start = start ?? UTCTime(rfc3339: "2026-11-21T08:00:00Z") ?? UTCTime(nanoseconds: 0)
    let (sensors, positions) = tunnel(&generator, start)
    return [
      "input.mode": "replay", "input.speed": "8", "replay.sensors": try directory.write("drive.csv", sensors),
      "replay.position": try directory.write("drive.json", positions), "iio.latency": "0.1",
    ]
  }

  /// Samples and gpsd's reports of four minutes, with half a minute without a fix from 2:30 on.
  private static func tunnel(_ generator: inout SeededGenerator, _ start: UTCTime)
    -> (sensors: String, positions: String)
  {
    let samples = SyntheticDrive(rate: 50, length: 260).samples(&generator)
    var sensors = "t,ax,ay,az,gx,gy,gz\n"
    var positions =
      #"{"class":"VERSION","release":"3.22","rev":"3.22","proto_major":3,"proto_minor":14}"# + "\n"
    for sample in samples {
      let time = sample.truth.time
      sensors += String(format: "%.6f", time)
      for vector in [sample.scan.specificForce, sample.scan.rotationRate] {
        for axis in 0..<3 { sensors += String(format: ",%.9f", vector?[axis] ?? 0) }
      }
      sensors += "\n"
      guard let fix = sample.fix, let place = fix.coordinate, time == time.rounded() else { continue }
      let head =
        #"{"class":"TPV","device":"/dev/ttyS0","time":"\#(start.advanced(bySeconds: time).rfc3339)","mode":"#
      if (150..<180).contains(time) {
        positions += head + "1}\n"
      } else {
        positions += head
        positions += String(
          format:
            "3,\"lat\":%.9f,\"lon\":%.9f,\"altMSL\":500.0,\"speed\":%.4f,\"track\":%.4f,\"eph\":1.5,\"epv\":3.0,\"eps\":0.2}\n",
          place.latitude, place.longitude, fix.speed ?? 0, fix.course ?? 0)
      }
    }
    return (sensors, positions)
  }

  // MARK: Comparison

  /// Published positions by their time in ms.
  var published: [Int: Coordinate] {
    var published: [Int: Coordinate] = [:]
    for message in agent.messages where message.kind == "location" {
      guard let time = Self.milliseconds(message.payload["time"]), let latitude = message.latitude,
        let longitude = message.longitude
      else { continue }
      published[time] = Coordinate(latitude: latitude, longitude: longitude)
    }
    return published
  }

  /// Compares positions with those that the agent published for the same time.
  /// - Returns: the number of compared positions, and the largest distance in m.
  func compare(_ positions: [[String: Any]]) -> (count: Int, distance: Double) {
    let published = published
    var (count, distance) = (0, 0.0)
    for position in positions {
      guard let time = Self.milliseconds(position["time"]), let latitude = position["lat"] as? Double,
        let longitude = position["lon"] as? Double,
        let nearest = published.keys.min(by: { abs($0 - time) < abs($1 - time) }), abs(nearest - time) <= 10,
        let other = published[nearest]
      else { continue }
      count += 1
      distance = max(distance, Coordinate(latitude: latitude, longitude: longitude).distance(to: other))
    }
    return (count, distance)
  }

  private static func milliseconds(_ text: Any?) -> Int? {
    (text as? String).flatMap { UTCTime(rfc3339: $0) }.map { Int($0.nanoseconds / 1_000_000) }
  }
}

/// A client of gpsd's protocol whose reports are read while it runs.
struct GPSDWatcher {
  let child: ChildProcess

  init(port: UInt16) throws { child = try ChildProcess("gpspipe", ["-w", "127.0.0.1:\(port)"]) }

  var positions: [[String: Any]] { reports("TPV").filter { $0["lat"] is Double } }

  /// The satellites of each SKY, as texts of the given members.
  func skies(_ members: [String]) -> [Set<String>] {
    reports("SKY").compactMap { $0["satellites"] as? [[String: Any]] }.map { satellites in
      Set(
        satellites.map { satellite in
          members.map { "\((satellite[$0] as? NSNumber)?.doubleValue ?? -1)" }.joined(separator: " ")
        })
    }
  }

  func reports(_ name: String) -> [[String: Any]] {
    child.output.split(whereSeparator: \.isNewline).compactMap { line in
      (try? JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]).flatMap {
        $0["class"] as? String == name ? $0 : nil
      }
    }
  }
}
