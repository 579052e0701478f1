import FleetStore
import Foundation
import JSON
import Sensors
import Spatial
import TestSupport
import Testing
import Traces

/// A trace as MCAP, read by the library of the format.
@Suite struct TraceMCAPTests {
  private static let start = UTCTime(nanoseconds: 1_795_248_000_000_000_000)
  /// Device time is seconds since the vehicle's start.
  private static let head = TraceFile.Head(
    moment: Timestamp(seconds: 15), utcOffset: start.nanoseconds)

  private static func samples() -> [TraceSample] {
    var samples: [TraceSample] = []
    for number in 0..<2000 {
      let time = Timestamp(nanoseconds: 2_500_000 * Int64(number))
      var scan = InertialScan(
        timestamp: time, specificForce: Vector3(0.0047884, -1, 9.80665), rotationRate: Vector3(0, 0.125, -0.5)
      )
      if number % 4 == 0 { (scan.magneticField, scan.temperature) = (Vector3(22, 0, -41.5), 31.25) }
      samples.append(.inertial(scan))
      guard number % 400 == 0 else { continue }
      var fix = PositionFix(
        timestamp: time, mode: .threeDimensional,
        coordinate: Coordinate(latitude: 48.137431, longitude: 11.57549))
      (fix.speed, fix.altitudeEllipsoidal) = (13.9, 565.25)
      samples.append(.fix(fix))
      samples.append(.pressure(.init(timestamp: time, pressure: 95_000.5)))
      samples.append(.motion(.init(timestamp: time, attitude: .identity, velocity: Vector3(1, 2, 3))))
      samples.append(.vehicle(.init(timestamp: time, path: "Vehicle.Speed", value: .number(50.4))))
      samples.append(
        .vehicle(.init(timestamp: time, path: "Vehicle.Powertrain.Gear", value: .text("D \"4\""))))
      samples.append(.vehicle(.init(timestamp: time, path: "Vehicle.IsBraking", value: .flag(true))))
      samples.append(.vehicle(.init(timestamp: time, path: "Vehicle.Speed", value: nil)))
    }
    return samples
  }

  private func read(_ bytes: [UInt8]) throws -> [String: JSONValue] {
    let directory = try TemporaryDirectory()
    let path = directory.file("trace.mcap")
    try Data(bytes).write(to: URL(filePath: path))
    let result = try PythonEnvironment.mcap.run("MCAP/read.py", [path])
    #expect(result.status == 0, "\(result.output)")
    var lines: [String: JSONValue] = [:]
    for line in result.output.split(separator: "\n") {
      let json = try JSONValue(parsing: Array(line.utf8))
      lines[json["topic"]?.string ?? "?"] = json
    }
    return lines
  }

  @Test(.needs(.mcap)) func theLibraryOfTheFormatReadsIt() throws {
    let lines = try read(TraceMCAP.bytes(Self.head, Self.samples()))
    let counts = lines.mapValues { $0["count"]?.integer }
    #expect(
      counts == [
        "/inertial": 2000, "/position": 5, "/pressure": 5, "/motion": 5, "/Vehicle/Speed": 10,
        "/Vehicle/Powertrain/Gear": 5, "/Vehicle/IsBraking": 5, "": 2035,
      ])
    #expect(lines[""]?["channels"]?.integer == 7)
    let scan = try #require(lines["/inertial"]?["first"])
    #expect(scan["specificForce"]?.array?.compactMap(\.double) == [0.0047884, -1, 9.80665])
    #expect(scan["temperature"]?.double == 31.25)
    #expect(lines["/inertial"]?["time"]?.integer == Self.start.nanoseconds)
    let fix = try #require(lines["/position"])
    #expect(fix["schema"]?.string == "foxglove.LocationFix" && fix["first"]?["latitude"]?.double == 48.137431)
    #expect(fix["first"]?["timestamp"]?["sec"]?.integer == Self.start.nanoseconds / 1_000_000_000)
    #expect(lines["/Vehicle/Powertrain/Gear"]?["first"]?["value"]?.string == "D \"4\"")
    #expect(lines["/Vehicle/IsBraking"]?["first"]?["value"]?.bool == true)
  }

  /// A trace without samples, and times before 1970 and at the limits of the range.
  @Test(.needs(.mcap)) func emptyTracesAndImpossibleTimesAreRead() throws {
    let empty = try read(TraceMCAP.bytes(Self.head, []))
    #expect(empty.count == 1 && empty[""]?["count"]?.integer == 0)
    let odd = [Int64.min, -1, 0, .max].map {
      TraceSample.pressure(.init(timestamp: Timestamp(nanoseconds: $0), pressure: 1))
    }
    #expect(try read(TraceMCAP.bytes(Self.head, odd))["/pressure"]?["count"]?.integer == 4)
  }
}
