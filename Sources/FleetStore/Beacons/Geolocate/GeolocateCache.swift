internal import Fleet
internal import SQLite
internal import Spatial

/// What services have answered, and how often they were asked: an SQLite file, bounded and forgetting.
///
/// What was said is kept as it was said, also that a place is not known; whether it is believed is judged each time anew, because the fleet
/// learns. No key, no vehicle and no beacon is in it: questions are named by a hash.
struct GeolocateCache: ~Copyable {
  private let database: Database

  /// Days for which an answer is kept, and that there is none.
  static let (kept, keptUnknown) = (90, 30)
  /// Answers, 50 bytes each; of more the oldest go.
  private static let most = 500_000

  private static let steps = [
    """
    CREATE TABLE answers (service TEXT NOT NULL, question INTEGER NOT NULL, day INTEGER NOT NULL, latitude REAL,
      longitude REAL, accuracy REAL, PRIMARY KEY (service, question)) WITHOUT ROWID;
    CREATE TABLE asked (service TEXT NOT NULL, day INTEGER NOT NULL, count INTEGER NOT NULL,
      PRIMARY KEY (service, day)) WITHOUT ROWID;
    """
  ]

  /// - Parameter day: days since 1970.
  /// - Throws: `FleetError` for a file that is none, or cannot be written.
  init(path: String, day: Int) throws(FleetError) {
    do throws(SQLiteError) { database = try Self.open(path, day) } catch { throw Self.failure(path, error) }
  }

  private static func open(_ path: String, _ day: Int) throws(SQLiteError) -> Database {
    let database = try Database(path: path, access: .create)
    guard try database.migrate(steps) else {
      throw SQLiteError(code: .notADatabase, message: "it is of a newer version", sql: "open", file: path)
    }
    // What is of a day that is yet to come was written with a wrong clock.
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
        ? "\(error); it is no file of answers: name another one, or delete it" : error.description,
      exit: error.isDamage ? .usage : .outputFailed)
  }

  /// What was answered; nil where it was not asked yet.
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

  /// How often the service was asked on a day.
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

  /// Counts a question before it is asked, so that the bound holds also for what is killed meanwhile.
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

  /// Keeps what was answered; of an outcome that is no answer nothing.
  func keep(_ outcome: GeolocateOutcome, of question: Int64, _ service: String, day: Int) throws(FleetError) {
    var answer: GeolocateAnswer?
    switch outcome {
    case .answered(let said): answer = said
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
