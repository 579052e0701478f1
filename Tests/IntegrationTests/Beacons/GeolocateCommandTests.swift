import Foundation
import Positioning
import Sensors
import Spatial
import Telemetry
import TestSupport
import Testing

/// `odograph beacons build --geolocate` with a recording and a local HTTP service.
@Suite(.serialized, .timeLimit(.minutes(3))) struct GeolocateCommandTests {
  private let directory: TemporaryDirectory
  private let service: GeolocateFixture

  init() throws {
    directory = try TemporaryDirectory()
    service = try GeolocateFixture()
  }

  /// Records scans in a town: ten access points received by one vehicle, and ten others received by two vehicles.
  private func recording() async throws -> String {
    let broker = try BrokerFixture()
    let store = directory.file("fleet.sqlite")
    let record = RecordProcess(broker, into: store, ["--count", "9", "--kind", "scan"], state: directory)
    try record.start()
    try await broker.waitForLog("Sending SUBACK to odograph-record")
    for turn in 0..<3 {
      for (vehicle, numbers) in [("one", 1..<11), ("one", 21..<31), ("two", 21..<31)]
        as [(String, Range<UInt64>)]
      {
        let now = UTCTime(nanoseconds: Int64(Date().timeIntervalSince1970 * 1e9))
        let scan = try #require(
          ScanMessage.Scan(
            time: now.advanced(bySeconds: Double(-turn)),
            coordinate: PrivacyPolicy.unrestricted(Coordinate(latitude: 48.1372, longitude: 11.5756)),
            accuracy: 5,
            sightings: numbers.compactMap { Beacon(accessPoint: $0) }.map {
              BeaconSighting(beacon: $0, signal: -64)
            }))
        try await publish(
          broker, "odograph/v1/test/\(vehicle)/scan",
          String(decoding: ScanMessage(scans: [scan]).payload, as: UTF8.self))
      }
    }
    #expect(try await record.waitForEnd() == 0, "\(record.output)")
    return store
  }

  private func sources(_ map: String) throws -> [Substring: Int] {
    try String(contentsOfFile: map, encoding: .utf8).split(separator: "\n").dropFirst().reduce(into: [:]) {
      $0[$1.split(separator: ",").last ?? "", default: 0] += 1
    }
  }

  @Test func beaconsWithTooFewReportsAreQueriedOnce() async throws {
    let store = try await recording()
    let map = directory.file("map.csv")
    let key = try directory.write("key", "fleet-key\n")
    let arguments = ["beacons", "build", store, "-o", map, "--vehicles", "2", "--force"]
    let own = try await OdographProcess.run(arguments)
    #expect(own.status == 0 && own.output.contains("10 with too few reports"), "\(own.output)")
    #expect(try sources(map) == ["fleet": 10] && service.requests().isEmpty)

    let asked = arguments + ["--geolocate-key", key, "--geolocate"]
    let first = try await OdographProcess.run(asked + [service.url("good")])
    let host = "127.0.0.1:\(service.port)"
    #expect(first.status == 0, "\(first.output)")
    #expect(
      first.output.contains("10 access points and 0 cells from 9 scans of 2 vehicles"), "\(first.output)")
    #expect(
      first.output.contains("1 queries to \(host), 0 answers from the cache; 10 beacons from the answers"))
    #expect(!first.output.contains("fleet-key"))
    #expect(try sources(map) == ["fleet": 10, host[...]: 10])
    let again = try await OdographProcess.run(asked + [service.url("good")])
    #expect(again.output.contains("1 answers from the cache; 10 beacons"), "\(again.output)")
    #expect(try sources(map) == ["fleet": 10, host[...]: 10] && service.requests().count == 1)
    #expect(FileManager.default.fileExists(atPath: map + ".geolocate.sqlite"))
    // No query is sent if the fleet's own reports suffice.
    let known = try await OdographProcess.run(
      ["beacons", "build", store, "-o", map, "--force", "--geolocate", service.url("good")])
    #expect(
      known.status == 0 && known.output.contains("0 queries to \(host), 0 answers"), "\(known.output)")
    #expect(try sources(map) == ["fleet": 20] && service.requests().count == 1)

    // If the service fails, the map is written without its answers, and the error is reported.
    let other = ["--geolocate-cache", directory.file("other.sqlite"), "--geolocate"]
    for (scene, said) in [
      ("forbidden", "check the key and its limits"), ("redirect", "redirects to another address"),
    ] {
      let refused = try await OdographProcess.run(arguments + other + [service.url(scene)])
      #expect(refused.status == 69 && refused.output.contains(said), "\(refused.output)")
      #expect(refused.output.contains("the map is written") && !refused.output.contains("fleet-key"))
      #expect(try sources(map) == ["fleet": 10])
    }
  }

  @Test func invalidArgumentsAreRefusedWithoutAQuery() async throws {
    let build = ["beacons", "build", directory.file("none.sqlite")]
    let url = service.url("good")
    for (arguments, said) in [
      (["--geolocate", url], "--geolocate-cache"),
      (["--geolocate-key", "key"], "add --geolocate"),
      (["-o", directory.file("m"), "--geolocate", "http://api.example/v1/geolocate"], "use https"),
      (["-o", directory.file("m"), "--geolocate", url + "?key=hidden"], "--geolocate-key"),
      (
        ["-o", directory.file("m"), "--geolocate", url, "--geolocate-key", directory.file("none")],
        "No such file"
      ),
      (["-o", directory.file("m"), "--geolocate", url, "--geolocate-daily", "0"], "1 to 1000000"),
    ] as [([String], String)] {
      let run = try await OdographProcess.run(build + arguments)
      #expect(run.status == 64 && run.output.contains(said), "\(arguments): \(run.output)")
      #expect(!run.output.contains("hidden"))
    }
    #expect(try service.requests().isEmpty)
  }
}
