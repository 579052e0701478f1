import Fleet
import FleetFixtures
import FleetStore
import TestSupport
import Testing

/// The order in which a batch is stored depends on its messages only.
@Suite struct StoringOrderTests {
  private typealias Rows = RecordedRows

  private static func messages() -> [RecordedMessage] {
    var all: [(String, String)] = [
      ("van/motion", #"{"epoch":"e","seq":9}"#), ("van/motion", #"{"epoch":"d","seq":9}"#),
    ]
    for number in 1...20 {
      // The same time as a message of the other vehicle, and as another number.
      let second = Double(number / 2) - Double(number % 3) * Rows.day
      all += ["a", "b"].map { Rows.location($0, number, at: second) }
    }
    for value in 1...3 {
      all.append(("van/heading", #"{"time":"2026-11-21T12:00:00.000Z","heading":\#(value)}"#))
    }
    return Rows.of(all)
  }

  @Test func theOrderDoesNotDependOnTheArrival() {
    var random = SplitMix.announced()
    let wanted = RecordedMessage.inStoringOrder(Self.messages())
    #expect(Set(wanted) == Set(Self.messages()) && wanted.count == Self.messages().count)
    let times = wanted.map { $0.fields.time?.milliseconds ?? .min }
    #expect(times == times.sorted())
    for _ in 0..<50 {
      #expect(RecordedMessage.inStoringOrder(Self.messages().shuffled(using: &random)) == wanted)
    }
    #expect(RecordedMessage.inStoringOrder([]).isEmpty)
  }

  /// Two recorders that get the same messages in opposite orders do not deadlock.
  @Test(.timeLimit(.minutes(3)), .needs(.postgreSQL)) func oppositeOrdersDoNotDeadlock() async throws {
    let server = try PostgreSQLFixture()
    let url = server.url
    try PostgreSQLStore(address: url).open()
    let added = try await withThrowingTaskGroup(of: Int.self) { group in
      for recorder in 0..<2 {
        group.addTask {
          let store = PostgreSQLStore(address: url)
          var added = 0
          for batch in 0..<40 {
            let rows = (0..<500).map { Rows.location("van-\($0 % 50)", batch * 500 + $0, at: Double($0 % 7)) }
            added += try store.store(Rows.of(recorder == 0 ? rows : rows.reversed()))
          }
          return added
        }
      }
      return try await group.reduce(0, +)
    }
    #expect(added == 20_000)
    #expect(
      try server.query("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()") == [["0"]]
    )
  }
}
