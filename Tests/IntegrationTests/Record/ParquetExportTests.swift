import Foundation
import TestSupport
import Testing

/// `odograph export --format parquet`: pandas, pyarrow, geopandas and DuckDB read the recorded data.
@Suite(.serialized, .timeLimit(.minutes(8))) struct ParquetExportTests {
  /// Records a drive and a vehicle with positions before 1970 and around midnight.
  private func drive(into store: String, until isWhole: @autoclosure () throws -> Bool) async throws {
    let drive = try RecordedDrive()
    try await drive.record(into: store, subscription: 1, until: isWhole()) {
      let times = ["1969-12-31T23:59:59.999Z", "2026-11-21T23:59:59.999Z", "2026-11-22T00:00:00.000Z"]
      for (index, time) in times.enumerated() {
        try await publish(
          drive.broker, "odograph/v1/demo/Größe/location",
          #"{"time":"\#(time)","latitude":48.123456789,"longitude":-0.5,"altitude":-1.5,"#
            + #""epoch":"00000000000000ff","seq":\#(index + 1)}"#)
      }
      try await drive.drive()
    }
  }

  private func recording(in folder: TemporaryDirectory) async throws -> String {
    let store = folder.file("fleet.sqlite")
    try await drive(into: store, until: RecordedDrive.isWhole(store))
    return store
  }

  @Test(.needs(.parquetReaders)) func readersReadAnSQLiteRecording() async throws {
    let folder = try TemporaryDirectory()
    try await compare(recording(in: folder), folder)
    let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
    #expect(!names.contains { $0.hasSuffix(".part") })
  }

  @Test(.needs(.parquetReaders), .needs(.postgreSQL)) func readersReadAPostgreSQLRecording() async throws {
    let folder = try TemporaryDirectory()
    let database = try PostgreSQLFixture()
    try await drive(
      into: database.url,
      until: (try? database.query("SELECT 1 FROM odograph.messages WHERE topic = 'sensors/done'"))?.isEmpty
        == false)
    try await compare(database.url, folder)
  }

  private func compare(_ store: String, _ folder: TemporaryDirectory) async throws {
    let (days, lines) = (folder.file("days"), folder.file("lines.jsonl"))
    let written = try await OdographProcess.run(["export", store, "--format", "parquet", "-o", days])
    #expect(written.status == 0 && written.output.contains(" positions from "), "\(written.output)")
    #expect(try await OdographProcess.run(["export", store, "-o", lines]).status == 0)
    let result = try PythonEnvironment.parquetReaders.run("Parquet/positions.py", [days, lines])
    #expect(result.status == 0, "\(result.output)")
    let counts = ContractScript.counts(result.output)
    #expect(counts["rows"] ?? 0 > 50 && counts["days"] ?? 0 >= 3)
    print("Parquet of a drive read by pyarrow and DuckDB: \(result.output.split(separator: "\n"))")
  }

  /// A daily export replaces the same day of the same fleets and leaves other files unchanged.
  @Test(.needs(.parquetReaders)) func singleDaysAreReplaced() async throws {
    let folder = try TemporaryDirectory()
    let store = try await recording(in: folder)
    let (days, lines) = (folder.file("days"), folder.file("lines.jsonl"))
    // Fleets with names that resemble numbers, escapes, dates or hidden files, on two days.
    let fleets = ["7", "007", "a=b %:{x}", "2026-11-21", "ü", "_hidden", ".hidden"]
    func rows(_ latitude: Int, _ day: Int) throws {
      for fleet in fleets {
        try SQLiteReader(store).run(
          """
          INSERT INTO fixes (fleet, vehicle, time, latitude, longitude, place)
            WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 9)
            SELECT '\(fleet)', 'bus', 1795219200000 + \(day) * 86400000 + \(latitude) * 3600000 + i * 1000, \(latitude), 11, 0 FROM n
          """)
      }
    }
    try rows(1, 0)
    try rows(1, 1)
    let export = ["export", store, "--format", "parquet", "-o", days]
    #expect(try await OdographProcess.run(export).status == 0)
    let other = days + "/date=2026-11-21/fleet-a%3Db %25%3A%7Bx}/positions.parquet"
    let before = try #require(FileManager.default.contents(atPath: other))
    try Data("mine".utf8).write(to: URL(filePath: days + "/_SUCCESS"))
    let late = days + "/date=2026-11-22/fleet-7/positions.parquet"
    let first = try #require(FileManager.default.contents(atPath: late))
    // Late messages, and a new day.
    try rows(2, 1)
    try rows(2, 5)
    for (from, to) in [("2026-11-22", "2026-11-23"), ("2026-11-26", "2026-11-27")] {
      let update = try await OdographProcess.run(export + ["--update", "--from", from, "--to", to])
      #expect(update.status == 0, "\(update.output)")
    }
    #expect(FileManager.default.contents(atPath: other) == before)
    #expect(try #require(FileManager.default.contents(atPath: late)) != first)
    #expect(FileManager.default.contents(atPath: days + "/_SUCCESS") == Data("mine".utf8))
    let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
    #expect(!names.contains { $0.hasSuffix(".part") }, "\(names)")
    // All days together equal a complete export.
    #expect(try await OdographProcess.run(["export", store, "-o", lines]).status == 0)
    let result = try PythonEnvironment.parquetReaders.run("Parquet/positions.py", [days, lines])
    #expect(result.status == 0, "\(result.output)")
    // A day in the layout of an older version is refused instead of duplicated.
    let old = days + "/date=2026-11-22/fleet=7"
    try FileManager.default.createDirectory(atPath: old, withIntermediateDirectories: false)
    let mixed = try await OdographProcess.run(
      export + ["--update", "--from", "2026-11-22", "--to", "2026-11-23"])
    #expect(mixed.status == 64 && mixed.output.contains("layout of an older version"), "\(mixed.output)")
    try FileManager.default.removeItem(atPath: old)
    // Options that would delete more than the named days.
    let cases: [([String], String)] = [
      (["--from", "2026-11-22T12:00:00Z"], "whole days"), (["--vehicle", "bus"], "whole days"),
      (["--force"], "give one of them"), (["--format", "csv"], "requires --format parquet"),
    ]
    for (arguments, text) in cases {
      let refused = try await OdographProcess.run(
        ["export", store, "-o", days, "--update"]
          + (arguments.contains("--format") ? [] : ["--format", "parquet"]) + arguments)
      #expect(refused.status == 64 && refused.output.contains(text), "\(arguments): \(refused.output)")
    }
  }

  /// Arguments, exit status and message.
  @Test func errorsHaveARemedy() async throws {
    let folder = try TemporaryDirectory()
    let store = try await recording(in: folder)
    let days = folder.file("days")
    let export = ["export", store, "--format", "parquet"]
    #expect(try await OdographProcess.run(export + ["-o", days]).status == 0)
    let cases: [([String], Int32, String)] = [
      (export, 64, "name one with -o"), (export + ["-o", "-"], 64, "name one with -o"),
      (export + ["-o", days], 64, "--force replaces it"),
      (export + ["-o", store, "--force"], 64, "not a folder"),
      (export + ["-o", folder.path, "--force"], 64, "not part of an export"),
      (export + ["-o", folder.file("none/days")], 74, "check the folder"),
      (export + ["-o", "/dev/null"], 64, "not a folder"),
      (export + ["-o", folder.file("x"), "--messages"], 64, "JSON lines only"),
    ]
    for (arguments, status, text) in cases {
      let result = try await OdographProcess.run(arguments)
      #expect(result.status == status && result.output.contains(text), "\(arguments): \(result.output)")
    }
    let again = try await OdographProcess.run(
      ["export", store, "--vehicle", "sim-3", "-o", folder.file("sim.parquet")])
    #expect(again.status == 0, "the extension selects the format: \(again.output)")
    #expect(
      try await OdographProcess.run(export + ["-o", days, "--force", "--from", "2026-11-22"]).status == 0)
    #expect(!FileManager.default.fileExists(atPath: days + "/date=1969-12-31"))
  }

  /// A signal during the export leaves no files.
  @Test(arguments: [SIGINT, SIGTERM]) func signalLeavesNoFiles(_ number: Int32) async throws {
    let folder = try TemporaryDirectory()
    let store = try await recording(in: folder)
    // Enough days of fixes that the signal arrives before the export is complete.
    try SQLiteReader(store).run(
      """
      INSERT INTO fixes (fleet, vehicle, time, latitude, longitude, place)
        WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 400000)
        SELECT 'demo', 'bus', 1795219200000 + i * 200, 48, 11, 0 FROM n
      """)
    let child = try OdographProcess.start(
      ["export", store, "--format", "parquet", "-o", folder.file("days")], output: folder.file("log"))
    try await eventually {
      try FileManager.default.subpathsOfDirectory(atPath: folder.path).contains {
        $0.hasSuffix("date=2026-11-21/fleet-demo")
      }
    }
    child.signal(number)
    try await eventually { !child.isRunning }
    #expect(child.waitForExit() == 128 + number)
    #expect(try OdographProcess.text(of: folder.file("log")).contains("nothing is written"))
    let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
    #expect(!names.contains { $0.contains("days") }, "\(names)")
  }
}
