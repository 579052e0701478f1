import Fleet
import FleetProgram
import FleetWeb
import Foundation
import HTTPTypes
import JSON
import SQLite
import TestSupport
import Testing

/// Base maps, from files written by SQLite and from the configuration.
@Suite struct MapTests {
  private static let png: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 1]

  /// A file with a tile of each image format at zoom 1; its rows count from the south.
  private func file(
    _ directory: TemporaryDirectory, metadata: [(String, String)] = [("name", "Town"), ("format", "png")],
    tiles: [(Int, Int, Int, [UInt8])] = [
      (1, 0, 0, png), (1, 1, 0, [0xFF, 0xD8, 0xFF, 0xE0]),
      (1, 0, 1, Array("RIFF....WEBP".utf8)), (1, 1, 1, Array("GIF89a".utf8)),
    ]
  ) throws -> String {
    let path = directory.file("map.mbtiles")
    let database = try Database(path: path, access: .create)
    try database.execute(
      "CREATE TABLE metadata (name TEXT, value TEXT);"
        + "CREATE TABLE tiles (zoom_level INTEGER, tile_column INTEGER, tile_row INTEGER, tile_data BLOB);"
        + "CREATE UNIQUE INDEX tile_index ON tiles (zoom_level, tile_column, tile_row)")
    for (name, value) in metadata {
      var insert = try database.prepare("INSERT INTO metadata VALUES (?, ?)")
      insert.bind(1, name)
      insert.bind(2, value)
      try insert.run()
    }
    try database.transaction { () throws(SQLiteError) in
      for (zoom, column, row, bytes) in tiles {
        var insert = try database.prepare("INSERT INTO tiles VALUES (?, ?, ?, ?)")
        insert.bind(1, Int64(zoom))
        insert.bind(2, Int64(column))
        insert.bind(3, Int64(row))
        insert.bind(4, blob: bytes)
        try insert.run()
      }
    }
    return path
  }

  private func routes(_ path: String) throws -> RouteProbe {
    var settings = MapSettings()
    settings.source = .file(path)
    return RouteProbe([try MapRoutes(settings)])
  }

  /// Table: addresses count rows from the north, and types are detected in the images.
  @Test func tilesAreFoundByTheirAddresses() async throws {
    let directory = try TemporaryDirectory()
    let probe = try routes(try file(directory))
    for (address, type) in [
      ("1/0/1", "image/png"), ("1/1/1", "image/jpeg"), ("1/0/0", "image/webp"), ("1/1/0", "image/gif"),
    ] {
      let answer = try await probe.ask(.get, "/tiles/\(address)")
      #expect(answer.status == .ok && answer.headers[.contentType] == type, "\(address)")
      let tag = try #require(answer.headers[.eTag])
      let again = try await probe.ask(.get, "/tiles/\(address)", headers: [.ifNoneMatch: tag])
      #expect(again.status == .notModified && again.body.isEmpty)
    }
    #expect(try await probe.ask(.get, "/tiles/1/0/1").body == Self.png)
  }

  @Test func missingTilesAreNoError() async throws {
    let directory = try TemporaryDirectory()
    let probe = try routes(try file(directory))
    #expect(try await probe.ask(.get, "/tiles/2/0/0").status == .noContent)
    for address in [
      "1/2/0", "1/0/2", "25/0/0", "-1/0/0", "a/0/0", "1/0/0.png", "1/+0/0", "99999999999999999999/0/0",
    ] {
      #expect(try await probe.ask(.get, "/tiles/\(address)").status == .notFound, "\(address)")
    }
    let without = RouteProbe([try MapRoutes(MapSettings())])
    #expect(try await without.ask(.get, "/tiles/0/0/0").code == "no-map")
    let answer = try await without.ask(.get, "/map")
    #expect(answer.status == .ok && answer.json == .object([:]))
  }

  @Test func coverageIsReadFromTheFile() async throws {
    let directory = try TemporaryDirectory()
    let probe = try routes(
      try file(
        directory,
        metadata: [
          ("name", "Town"), ("format", "png"), ("minzoom", "0"), ("maxzoom", "1"),
          ("attribution", "\u{A9} Town"),
          ("bounds", "11.3,48.0,11.8,48.3"),
        ]))
    let tiles = try #require(try await probe.ask(.get, "/map").json?["tiles"])
    #expect(
      tiles["url"]?.string == "/api/v1/tiles/{z}/{x}/{y}" && tiles["attribution"]?.string == "\u{A9} Town")
    #expect(tiles["minimumZoom"]?.integer == 0 && tiles["maximumZoom"]?.integer == 1)
    #expect(tiles["bounds"]?.array?.compactMap(\.double) == [11.3, 48, 11.8, 48.3])
  }

  /// Invalid zoom levels are replaced by those of the tiles; invalid bounds are omitted.
  @Test(arguments: [[], [("minzoom", "5"), ("maxzoom", "2")], [("minzoom", "x"), ("bounds", "1,2,3")]])
  func invalidMetadataIsIgnored(metadata: [(String, String)]) async throws {
    let directory = try TemporaryDirectory()
    let probe = try routes(try file(directory, metadata: metadata))
    let tiles = try #require(try await probe.ask(.get, "/map").json?["tiles"])
    #expect(
      tiles["minimumZoom"]?.integer == 1 && tiles["maximumZoom"]?.integer == 1 && tiles["bounds"] == nil)
  }

  /// Table: files that are no raster maps, with the errors at the start.
  @Test func filesThatCannotBeUsedAreRefused() throws {
    func refusal(_ path: String) -> String {
      do {
        _ = try TileFile(path: path)
        return ""
      } catch {
        return error.description
      }
    }
    let directory = try TemporaryDirectory()
    #expect(refusal("/nonexistent.mbtiles").contains("no such file"))
    let text = try directory.write("text.mbtiles", String(repeating: "no database\n", count: 100))
    #expect(refusal(text).contains("not an MBTiles file") && refusal(text).contains(text))
    let other = directory.file("other.mbtiles")
    try Database(path: other, access: .create).execute("CREATE TABLE x (y)")
    #expect(refusal(other).contains("MBTiles file of raster tiles"))
    let vector = try TemporaryDirectory()
    #expect(try refusal(file(vector, metadata: [("format", "pbf")])).contains("vector tiles"))
    let empty = try TemporaryDirectory()
    #expect(try refusal(file(empty, tiles: [])).contains("it contains no tile"))
  }

  /// A file that becomes damaged is reported with the tile, the file and a remedy; the server continues.
  @Test func damageIsReportedWithPositionAndRemedy() async throws {
    let directory = try TemporaryDirectory()
    let big = Self.png + [UInt8](repeating: 7, count: 20_000)
    let path = try file(
      directory, tiles: (0..<64).map { (3, $0 % 8, $0 / 8, big) } + [(1, 0, 0, Array("garbage".utf8))])
    let probe = try routes(path)
    let garbage = try await probe.ask(.get, "/tiles/1/0/1")
    #expect(garbage.status == .internalServerError && garbage.message.contains("tile 1/0/1 of \(path)"))
    // Overwrites the file from the fifth page: the schema stays, the tiles and their index do not.
    let handle = try FileHandle(forUpdating: URL(fileURLWithPath: path))
    let length = try handle.seekToEnd()
    try handle.seek(toOffset: 16_384)
    try handle.write(contentsOf: Data(repeating: 0xAB, count: Int(length) - 16_384))
    try handle.close()
    var codes: Set<String> = []
    for place in 0..<64 {
      let answer = try await probe.ask(.get, "/tiles/3/\(place % 8)/\(place / 8)")
      if answer.status == .internalServerError {
        codes.insert(answer.code ?? "")
        #expect(answer.message.contains(path) && answer.json?["error"]?["remedy"]?.string != nil)
      }
    }
    #expect(codes == ["map-damaged"])
  }

  /// Table: invalid settings in `[map]`, with their errors.
  @Test(arguments: [
    ("tiles = \"https://t.example/{z}/{x}.png\"\nattribution = \"T\"", "it has no {y}"),
    ("tiles = \"ftp://t.example/{z}/{x}/{y}\"\nattribution = \"T\"", "neither https:// nor http://"),
    ("tiles = \"https://{s}.t.example/{z}/{x}/{y}\"\nattribution = \"T\"", "name one host"),
    ("tiles = \"https://t.example;x/{z}/{x}/{y}\"\nattribution = \"T\"", "no valid host"),
    ("tiles = \"https://t.example/{z}/{x}/{y}{r}\"\nattribution = \"T\"", "more than {z}, {x} and {y}"),
    ("tiles = \"https://t.example/{z}/{x}/{y}\"", "the source of the map"),
    (
      "tiles = \"https://t.example/{z}/{x}/{y}\"\nmbtiles = \"a\"\nattribution = \"T\"",
      "cannot be combined with mbtiles"
    ),
    ("mbtile = \"a\"", "did you mean mbtiles?"), ("minimum_zoom = 9\nmaximum_zoom = 3", "below minimum_zoom"),
  ])
  func wrongSettingsAreRefused(table: String, cause: String) throws {
    let error = try #require(throws: FleetError.self) {
      try MapSettings(SettingsFile(text: "[map]\n\(table)\n", path: "/etc/serve.toml"))
    }
    #expect(error.description.contains(cause) && error.description.contains("serve.toml"), "\(error)")
  }

  @Test func theOriginOfAnAddressIsReported() async throws {
    let settings = try MapSettings(
      SettingsFile(
        text:
          "[map]\ntiles = \"https://t.example:8443/a/{z}/{x}/{y}.png\"\nattribution = \"T\"\nmaximum_zoom = 17\n",
        path: "serve.toml"))
    let routes = try MapRoutes(settings)
    #expect(routes.origin == "https://t.example:8443")
    let tiles = try #require(try await RouteProbe([routes]).ask(.get, "/map").json?["tiles"])
    #expect(tiles["url"]?.string?.hasSuffix("{y}.png") == true && tiles["maximumZoom"]?.integer == 17)
    // The command line takes precedence over the file.
    let both = try MapSettings(SettingsFile(text: "[map]\nmbtiles = \"a\"\n", path: "/etc/s.toml"), file: "b")
    #expect(both.source == .file("b"))
    let own = try MapSettings(SettingsFile(text: "[map]\nmbtiles = \"a\"\n", path: "/etc/s.toml"))
    #expect(own.source == .file("/etc/a"))
  }
}
