package import Fleet
internal import HTTPTypes
internal import Platform
internal import SQLite

/// A file of raster map tiles: MBTiles 1.3, an SQLite database. Read by its own thread, and never modified.
package final class TileFile: Sendable {
  /// The metadata of the file.
  package struct Description: Hashable, Sendable {
    package var name: String?
    package var attribution: String?
    package var zooms: ClosedRange<Int>
    /// West, south, east, north in degrees; nil if unknown.
    package var bounds: [Double]?
  }

  /// An image of a part of the map.
  package struct Tile: Hashable, Sendable {
    package var bytes: [UInt8]
    package var type: String
  }

  package let path: String
  package let description: Description
  private let connection: Locked<TileConnection>
  private let threads: WorkerThreads

  /// The maximum number of waiting requests: the tiles of a hundred screens.
  private static let capacity = 2048

  /// Opens a file.
  ///
  /// - Throws: `FleetError` for a file that is unreadable, damaged, or without raster tiles.
  package init(path: String) throws(FleetError) {
    self.path = path
    do throws(SQLiteError) {
      let connection = try TileConnection(path)
      description = try connection.description()
      self.connection = Locked(connection)
    } catch {
      throw Self.refusal(of: path, error)
    }
    do throws(SystemError) {
      threads = try WorkerThreads(name: "map", count: 1, capacity: Self.capacity)
    } catch { throw FleetError(error) }
  }

  /// Returns a tile by its zoom, column and row, counted from the north-west as in URLs (the file counts rows
  /// from the south). Nil if the file has none.
  /// - Throws: `WebError` for a damaged file, and if too many requests are waiting.
  package func tile(zoom: Int, column: Int, row: Int) async throws -> Tile? {
    let path = path
    return try await threads.run { [connection] in
      let bytes: [UInt8]?
      do throws(SQLiteError) {
        bytes = try connection.withLock { connection throws(SQLiteError) in
          try connection.tile(zoom: zoom, column: column, row: (1 << zoom) - 1 - row)
        }
      } catch {
        throw WebError(
          .internalServerError, "map-damaged", "tile \(zoom)/\(column)/\(row) of \(path): \(error.message)",
          remedy: Self.remedy)
      }
      guard let bytes, !bytes.isEmpty else { return nil }
      guard let type = ImageType.of(bytes) else {
        throw WebError(
          .internalServerError, "map-damaged",
          "tile \(zoom)/\(column)/\(row) of \(path) is not a PNG, JPEG, WebP or GIF image",
          remedy: Self.remedy
        )
      }
      return Tile(bytes: bytes, type: type)
    }
  }

  package func stop() { threads.stop() }

  private static let remedy =
    "check it with sqlite3 FILE 'PRAGMA integrity_check', or download it again, and restart the server"

  private static func refusal(of path: String, _ error: SQLiteError) -> FleetError {
    let cause =
      switch error.code.primary {
      case .cannotOpen: FileFailure.causeOfFailure(toOpen: path) ?? error.message
      case .notADatabase: "not an MBTiles file (SQLite); vector tiles in a PMTiles archive are not read"
      case .corrupt: "it is damaged (\(error.message)); \(remedy)"
      default: "\(error.message); must be an MBTiles file of raster tiles"
      }
    return .usage("use the map", path, cause)
  }
}

/// The database of the file, used by one thread at a time.
private final class TileConnection {
  private let database: Database
  private var lookup: Statement

  init(_ path: String) throws(SQLiteError) {
    database = try Database(path: path, access: .readOnly)
    lookup = try database.prepare(
      "SELECT tile_data FROM tiles WHERE zoom_level = ? AND tile_column = ? AND tile_row = ?")
  }

  func tile(zoom: Int, column: Int, row: Int) throws(SQLiteError) -> [UInt8]? {
    lookup.bind(1, Int64(zoom))
    lookup.bind(2, Int64(column))
    lookup.bind(3, Int64(row))
    defer { lookup.reset() }
    return try lookup.step() ? lookup.bytes(0) : nil
  }

  func description() throws(SQLiteError) -> TileFile.Description {
    let format = try metadata("format")
    guard format.map({ !["pbf", "mvt"].contains($0) }) ?? true else {
      throw failure("it contains vector tiles (format \(format ?? "")); make raster tiles of them first")
    }
    // Missing or invalid metadata are derived from the tiles.
    let range = { (name: String) -> Int? in
      (try? self.metadata(name)).flatMap { $0 }.flatMap { Int($0) }.flatMap {
        (0...MapSettings.deepest).contains($0) ? $0 : nil
      }
    }
    var (lowest, highest) = (range("minzoom"), range("maxzoom"))
    if lowest == nil || highest == nil || lowest ?? 0 > highest ?? 0 {
      guard let first = try database.integer("SELECT min(zoom_level) FROM tiles"),
        let last = try database.integer("SELECT max(zoom_level) FROM tiles")
      else { throw failure("it contains no tile") }
      (lowest, highest) = (Int(clamping: first), Int(clamping: last))
    }
    guard let lowest, let highest, lowest <= highest, (0...MapSettings.deepest).contains(lowest),
      highest <= MapSettings.deepest
    else { throw failure("its zoom levels are not 0 to \(MapSettings.deepest)") }
    return TileFile.Description(
      name: try metadata("name"), attribution: try metadata("attribution"), zooms: lowest...highest,
      bounds: Self.bounds(try metadata("bounds")))
  }

  private func metadata(_ name: String) throws(SQLiteError) -> String? {
    var statement = try database.prepare("SELECT value FROM metadata WHERE name = ?", isPersistent: false)
    statement.bind(1, name)
    guard try statement.step(), let text = statement.text(0), !text.isEmpty else { return nil }
    return text
  }

  /// Parses a text such as `11.3,48.0,11.8,48.3`.
  private static func bounds(_ text: String?) -> [Double]? {
    let numbers = (text ?? "").split(separator: ",").compactMap { part in
      Double(part.filter { $0 != " " })
    }
    guard numbers.count == 4, numbers.allSatisfy(\.isFinite), abs(numbers[0]) <= 180, abs(numbers[2]) <= 180,
      abs(numbers[1]) <= 90, abs(numbers[3]) <= 90, numbers[0] < numbers[2], numbers[1] < numbers[3]
    else { return nil }
    return numbers
  }

  private func failure(_ message: String) -> SQLiteError {
    SQLiteError(code: .init(rawValue: 1), message: message, sql: "open", file: database.path)
  }
}

/// Image types by their first bytes, because the file's metadata are often wrong.
enum ImageType {
  static func of(_ bytes: [UInt8]) -> String? {
    func begins(_ start: [UInt8], at offset: Int = 0) -> Bool { bytes.dropFirst(offset).starts(with: start) }
    if begins([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]) { return "image/png" }
    if begins([0xFF, 0xD8, 0xFF]) { return "image/jpeg" }
    if begins(Array("RIFF".utf8)), begins(Array("WEBP".utf8), at: 8) { return "image/webp" }
    if begins(Array("GIF8".utf8)) { return "image/gif" }
    return nil
  }
}
