import Foundation
import TestSupport
import Testing

/// `odograph export`: third-party programs read the recorded data from the exported files.
@Suite(.serialized) struct ExportRoundTripTests {
  /// A position with nine decimals of a degree, so that equality means 0.1 mm.
  private struct Point: Hashable {
    var latitude: String
    var longitude: String
    var time: String

    init(_ latitude: Double, _ longitude: Double, _ time: String) {
      self.latitude = String(format: "%.9f", latitude)
      self.longitude = String(format: "%.9f", longitude)
      self.time = time
    }
  }

  private func recording() async throws -> (RecordedDrive, String) {
    let drive = try RecordedDrive()
    let store = drive.state.file("fleet.sqlite")
    try await drive.record(into: store, subscription: 1, until: RecordedDrive.isWhole(store)) {
      try await drive.drive()
    }
    return (drive, store)
  }

  /// The expected positions by SQL, in the order of the export: by vehicle and time, a single one per time.
  private func expected(_ store: String) throws -> [Point] {
    let rows = try SQLiteReader(store).rows(
      """
      SELECT latitude, longitude, strftime('%Y-%m-%dT%H:%M:%S', time / 1000, 'unixepoch'), time % 1000,
          vehicle, fleet, time, min(source)
        FROM positions WHERE time IS NOT NULL GROUP BY vehicle, fleet, time ORDER BY vehicle, fleet, time
      """)
    return rows.map { row in
      Point(
        Double(row[0] ?? "") ?? 0, Double(row[1] ?? "") ?? 0,
        (row[2] ?? "") + String(format: ".%03dZ", Int(row[3] ?? "") ?? 0))
    }
  }

  @Test(.timeLimit(.minutes(8)), .needs(.gpsbabel), .needs(.gpxpy)) func thirdPartyProgramsReadTheSamePoints()
    async throws
  {
    let (drive, store) = try await recording()
    let expected = try expected(store)
    #expect(expected.count > 50)
    #expect(try !SQLiteReader(store).rows("SELECT 1 FROM fixes LIMIT 1").isEmpty, "there is a track in it")
    for format in ["gpx", "geojson", "kml", "csv", "jsonl"] {
      let result = try await OdographProcess.run(["export", store, "-o", drive.state.file("out." + format)])
      #expect(
        result.status == 0 && result.output.contains("\(expected.count) positions from"), "\(result.output)")
    }
    try await gpsbabel(drive, expected)
    try await gpxpy(drive, expected)
    #expect(csv(try OdographProcess.text(of: drive.state.file("out.csv"))) == expected)
    #expect(try jsonl(OdographProcess.text(of: drive.state.file("out.jsonl"))) == expected)
    // No temporary files remain.
    let names = try FileManager.default.contentsOfDirectory(atPath: drive.state.path)
    #expect(!names.contains { $0.hasSuffix(".part") })
  }

  private func gpsbabel(_ drive: RecordedDrive, _ expected: [Point]) async throws {
    for (format, option) in [("gpx", "-t"), ("geojson", "-w")] {
      let text = try await runTool(
        "gpsbabel",
        [
          option, "-i", format, "-f", drive.state.file("out." + format), "-o", "unicsv,utc=0,prec=9", "-F",
          "-",
        ])
      let lines = text.split(whereSeparator: \.isNewline)
      let titles = try #require(lines.first).split(separator: ",").map(String.init)
      let (latitude, longitude) = (
        titles.firstIndex(of: "Latitude") ?? 0, titles.firstIndex(of: "Longitude") ?? 0
      )
      let read = lines.dropFirst().map { line in
        let fields = line.split(separator: ",", omittingEmptySubsequences: false)
        return [String(fields[latitude]), String(fields[longitude])]
      }
      #expect(read == expected.map { [$0.latitude, $0.longitude] }, "\(format)")
    }
    print("round trip by gpsbabel,\(expected.count)")
  }

  private func gpxpy(_ drive: RecordedDrive, _ expected: [Point]) async throws {
    let script = try ContractScript.start("gpx_points.py", [drive.state.file("out.gpx")])
    #expect(script.waitForExit() == 0, "\(script.output)")
    let read = script.output.split(separator: "\n").map { line in
      let fields = line.split(separator: "\t")
      return Point(Double(fields[1]) ?? 0, Double(fields[2]) ?? 0, String(fields[4]))
    }
    #expect(read == expected)
    print("round trip by gpxpy,\(read.count)")
  }

  private func csv(_ text: String) -> [Point] {
    text.split(separator: "\n").dropFirst().map { line in
      let fields = line.split(separator: ",", omittingEmptySubsequences: false)
      return Point(Double(fields[3]) ?? 0, Double(fields[4]) ?? 0, String(fields[2]))
    }
  }

  private func jsonl(_ text: String) throws -> [Point] {
    try text.split(separator: "\n").map { line in
      let object = try #require(JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
      return Point(
        object["latitude"] as? Double ?? 0, object["longitude"] as? Double ?? 0,
        object["time"] as? String ?? "")
    }
  }

  @Test(.timeLimit(.minutes(8))) func partsAreExported() async throws {
    let (drive, store) = try await recording()
    let one = try await OdographProcess.run(["export", store, "-q", "--vehicle", "sim-3", "--format", "csv"])
    let rows = try SQLiteReader(store).rows(
      "SELECT count(DISTINCT time), min(latitude), max(latitude) FROM positions WHERE vehicle = 'sim-3'")
    #expect(
      one.lines.count - 1 == Int(rows[0][0] ?? "")
        && one.lines.dropFirst().allSatisfy { $0.hasPrefix("demo,sim-3,") })
    // A region around the phone, far from the other vehicles.
    let region = try drive.state.write(
      "region.wkt", "here: POLYGON ((11.4 48.2, 11.6 48.2, 11.6 48.3, 11.4 48.3))\n")
    let near = try await OdographProcess.run(
      [
        "export", store, "-q", "--fleet", "ann", "--region", region, "--from", "2026-11-21", "--to",
        "2026-11-22",
      ])
    #expect(near.lines.count == 1 && near.output.contains(#""vehicle":"phone""#), "\(near.output)")
    let messages = try await OdographProcess.run(["export", store, "-q", "--messages"])
    let count = try SQLiteReader(store).rows("SELECT count(*) FROM messages")[0][0]
    #expect("\(messages.lines.count)" == count && messages.output.contains(#""payload":"no JSON: ü"}"#))
  }

  /// Arguments, exit status and message. The existing file remains unchanged.
  @Test(.timeLimit(.minutes(6))) func errorsHaveARemedy() async throws {
    let directory = try TemporaryDirectory()
    let old = try directory.write("old.gpx", "as it was")
    let cases: [([String], Int32, String)] = [
      (["export", directory.file("none.sqlite"), "-o", old], 64, "no such file"),
      (["export", "x", "--from", "noon"], 64, "write a time as"),
      (["export", "x", "--region", "/none"], 64, "no such file"),
      (["export", "x", "--messages", "--format", "gpx"], 64, "JSON lines only"),
      (["replay", directory.file("none.sqlite"), "--as-live"], 64, "no such file"),
      (["replay", "x", "--speed", "fast"], 64, "or max"),
      (["replay", "x", "--times", "x"], 64, "shift or keep"),
      (["replay", "x", "--to-fleet", "a/b"], 64, "--to-fleet"),
    ]
    for (arguments, status, text) in cases {
      let result = try await OdographProcess.run(arguments)
      #expect(result.status == status && result.output.contains(text), "\(arguments): \(result.output)")
    }
    #expect(try OdographProcess.text(of: old) == "as it was")
  }
}
