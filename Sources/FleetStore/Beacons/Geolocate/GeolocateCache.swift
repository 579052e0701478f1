internal import Fleet
internal import SQLite
internal import Spatial

/// A cache of the services' answers, and the count of queries: an SQLite file, limited in size and age.
///
/// Answers are stored unchanged, including unknown positions. They are evaluated again for each map, because
/// the fleet's data change. The cache contains no keys, vehicles or beacons: a hash identifies each query.
struct GeolocateCache: ~Copyable {
  private let database: Database

  /// The number of days for which positions are cached, and for which "position unknown" answers are cached.
  static let (kept, keptUnknown) = (90, 30)
  /// The maximum number of cached answers of about 50 bytes; the oldest are dropped.
  private static let most = 500_000

  private static let steps = [
    """
    CREATE TABLE answers (service TEXT NOT NULL, question INTEGER NOT NULL, day INTEGER NOT NULL, latitude REAL,
      longitude REAL, accuracy REAL, PRIMARY KEY (service, question)) WITHOUT ROWID;
    CREATE TABLE asked (service TEXT NOT NULL, day INTEGER NOT NULL, count INTEGER NOT NULL,
      PRIMARY KEY (service, day)) WITHOUT ROWID;
    """
  ]

  /// Opens a cache.
  ///
  /// - Parameter day: today in days since 1970.
  /// - Throws: `FleetError` for a file that is not a cache, or not writable.
  init(path: String, day: Int) throws(FleetError) {
    do throws(SQLiteError) { database = try Self.open(path, day) } catch { throw Self.failure(path, error) }
  }

  private static func open(_ path: String, _ day: Int) throws(SQLiteError) -> Database {
    let database = try Database(path: path, access: .create)
    guard try database.migrate(steps) else {
      throw SQLiteError(code: .notADatabase, message: "it is of a newer version", sql: "open", file: path)
    }
    // Answers with a day in the future were written when the clock was wrong, and are deleted, too.
    try database.execute(
      """
      DELETE FROM answers WHERE day > \(day) OR day < \(day - kept) OR latitude IS NULL AND day < \(day - keptUnknown);
      DELETE FROM asked WHERE day <> \(day);
      DELETE FROM answers WHERE (SELECT count(*) FROM answers) > \(most)
        AND day <= (SELECT day FROM answers ORDER BY day DESC LIMIT 1 OFFSET \(most));
      """)
    return database
  }

  private static func failure(_ path: String, _ error: SQLiteError) -> FleetError {
    FleetError(
      operation: "keep answers in", object: path,
      cause: error.isDamage
        ? "\(error); not a cache file: name another one, or delete it" : error.description,
      kind: error.isDamage ? .invalidInput : .outputFailed)
  }

  /// Returns a cached answer; nil if there is none.
  func answer(_ question: Int64, of service: String) throws(FleetError) -> GeolocateOutcome? {
    do throws(SQLiteError) {
      var statement = try database.prepare(
        "SELECT latitude, longitude, accuracy FROM answers WHERE service = ?1 AND question = ?2")
      statement.bind(1, service)
      statement.bind(2, question)
      guard try statement.step() else { return nil }
      guard let latitude = statement.double(0), let longitude = statement.double(1),
        let accuracy = statement.double(2)
      else { return .unknown }
      let place = Coordinate(latitude: latitude, longitude: longitude)
      guard place.isValid, accuracy.isFinite, accuracy >= 0 else { return nil }
      return .answered(GeolocateAnswer(coordinate: place, accuracy: accuracy))
    } catch {
      throw Self.failure(database.path, error)
    }
  }

  /// Returns the number of queries to a service on a day.
  func asked(_ service: String, day: Int) throws(FleetError) -> Int {
    do throws(SQLiteError) {
      var statement = try database.prepare("SELECT count FROM asked WHERE service = ?1 AND day = ?2")
      statement.bind(1, service)
      statement.bind(2, Int64(day))
      return try statement.step() ? Int(clamping: statement.int64(0)) : 0
    } catch {
      throw Self.failure(database.path, error)
    }
  }

  /// Counts a query before it is sent, so that the limit also applies after a crash.
  func count(_ service: String, day: Int) throws(FleetError) {
    do throws(SQLiteError) {
      var statement = try database.prepare(
        "INSERT INTO asked VALUES (?1, ?2, 1) ON CONFLICT DO UPDATE SET count = count + 1")
      statement.bind(1, service)
      statement.bind(2, Int64(day))
      try statement.run()
    } catch {
      throw Self.failure(database.path, error)
    }
  }

  /// Stores the outcome of a query if it is a position, or that the position is unknown. Other outcomes are
  /// not stored, so that the query is repeated later.
  func keep(_ outcome: GeolocateOutcome, of question: Int64, _ service: String, day: Int) throws(FleetError) {
    var answer: GeolocateAnswer?
    switch outcome {
    case .answered(let stored): answer = stored
    case .unknown: break
    case .busy, .failed, .refused, .interrupted: return
    }
    do throws(SQLiteError) {
      var statement = try database.prepare("INSERT OR REPLACE INTO answers VALUES (?1, ?2, ?3, ?4, ?5, ?6)")
      statement.bind(1, service)
      statement.bind(2, question)
      statement.bind(3, Int64(day))
      statement.bind(4, answer?.coordinate.latitude)
      statement.bind(5, answer?.coordinate.longitude)
      statement.bind(6, answer?.accuracy)
      try statement.run()
    } catch {
      throw Self.failure(database.path, error)
    }
  }
}
