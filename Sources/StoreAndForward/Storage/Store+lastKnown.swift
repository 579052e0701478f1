extension Store {
  /// How many of the last records of a lane are looked at for retained ones.
  private static let depth = 1024

  /// The retained topics among the last records of a lane, each with its newest place.
  func lastRetained(_ lane: Lane) throws(SQLiteFailure) -> [(topic: String, place: UInt64)] {
    let statement = try database.prepare(
      """
      SELECT topic, max(seq) FROM
        (SELECT seq, topic, retain FROM \(Schema.table(lane)) ORDER BY seq DESC LIMIT \(Self.depth))
      WHERE retain GROUP BY topic
      """)
    var places: [(topic: String, place: UInt64)] = []
    while try statement.step() {
      places.append((statement.text(0) ?? "", UInt64(clamping: statement.integer(1))))
    }
    return places
  }

  /// Records that were delivered ahead of their history, by topic.
  func overtakers() throws(SQLiteFailure) -> [(topic: String, lane: Lane, place: UInt64)] {
    let statement = try database.prepare("SELECT topic, lane, seq FROM overtaken")
    var places: [(topic: String, lane: Lane, place: UInt64)] = []
    while try statement.step() {
      let lane = Lane(rawValue: Int(statement.integer(1))) ?? .other
      places.append((statement.text(0) ?? "", lane, UInt64(clamping: statement.integer(2))))
    }
    return places
  }

  /// Remembers, inside a transaction, that a record was delivered ahead of its history.
  func noteOvertaking(topic: String, lane: Lane, place: UInt64) throws(SQLiteFailure) {
    let statement = try database.prepare(
      """
      INSERT INTO overtaken (topic, lane, seq) VALUES (?1, ?2, ?3)
      ON CONFLICT (topic) DO UPDATE SET lane = excluded.lane, seq = excluded.seq WHERE excluded.seq > seq
      """)
    statement.bind(1, topic)
    statement.bind(2, Int64(lane.rawValue))
    statement.bind(3, Int64(clamping: place))
    try statement.run()
  }
}
