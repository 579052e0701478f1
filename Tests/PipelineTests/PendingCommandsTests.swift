import Positioning
import Spatial
import Telemetry
import Testing

@testable import Pipeline

/// Who asked for a position gets the first that is exact enough, or the best at the time limit, and is told which.
@Suite struct PendingCommandsTests {
  private func at(_ seconds: Double) -> Timestamp { Timestamp(seconds: seconds) }

  private func fix(_ seconds: Double) -> LocationMessage {
    LocationMessage(
      identity: nil, time: UTCTime(nanoseconds: Int64(seconds) * 1_000_000_000),
      location: Location(timestamp: at(seconds), coordinate: Coordinate(latitude: 48, longitude: 11)))
  }

  private let sender = PendingCommands.Sender(
    command: "locate", request: RemoteRequest(subject: .command("locate"), payload: []))

  @Test(arguments: [
    // Metres of the fixes at seconds 1, 2, 3, …; seconds of the answer; which fix; whether it suffices.
    ([180.0, 60, 30, 10], 3.0, 3.0, true), ([20], 1, 1, true), ([180, 90, 120, 90, 200], 10, 4, false),
  ])
  func theFirstThatIsGoodEnoughOrTheBest(radii: [Double], answered: Double, which: Double, isSufficient: Bool)
    throws
  {
    var commands = PendingCommands()
    commands.locate(sender, accuracy: 50, until: at(10))
    var answer: (seconds: Double, found: PendingCommands.Found?)?
    for second in 1...12 {
      if second <= radii.count { commands.observe(fix(Double(second)), radius: radii[second - 1]) }
      if let found = commands.located(at: at(Double(second))).first {
        answer = answer ?? (Double(second), found.1)
      }
    }
    let found = try #require(answer?.found)
    #expect(answer?.seconds == answered && found.location.location.timestamp == at(which))
    #expect(found.isFresh && found.isSufficient == isSufficient)
    #expect(commands.nextDeadline == nil)
  }

  /// `sufficient` compares accuracies; `fresh` says whether the position is newer than the command.
  @Test(arguments: [(5.0, true), (50, true), (51, false), (nil, false)])
  func withoutANewFixTheLastKnownIsToldAsSuch(radius: Double?, isSufficient: Bool) throws {
    var commands = PendingCommands()
    commands.observe(fix(1), radius: radius)
    commands.locate(sender, accuracy: 50, until: at(10))
    #expect(commands.located(at: at(9)).isEmpty)
    let found = try #require(commands.located(at: at(10)).first?.1)
    #expect(!found.isFresh && found.location.location.timestamp == at(1))
    #expect(found.isSufficient == isSufficient)
  }

  @Test func aFixThatDoesNotSayHowExactItIsSufficesForNobody() throws {
    var commands = PendingCommands()
    commands.locate(sender, accuracy: 50, until: at(10))
    commands.observe(fix(2), radius: nil)
    #expect(commands.located(at: at(9)).isEmpty)
    let found = try #require(commands.located(at: at(10)).first?.1)
    #expect(found.isFresh && !found.isSufficient)
  }

  /// A measurement takes up to twenty seconds, in which anybody may ask for it as often as the broker lets through.
  @Test func tooManyDoNotWaitForTheLevel() {
    var commands = PendingCommands()
    var taken = 0
    for _ in 0..<1000 where commands.awaitLevel(sender, after: 3) { taken += 1 }
    let (early, answered) = (commands.measured(level: 3), commands.measured(level: 4))
    #expect(taken == PendingCommands.capacity && early.isEmpty && answered.count == taken)
    let hasRoom = commands.awaitLevel(sender, after: 4)
    #expect(hasRoom)
  }
}
