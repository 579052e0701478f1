import JSON
import Pipeline
import Positioning
import Sensors
import Spatial
import Telemetry
import Testing

/// A position request is answered by the first sufficiently accurate position, or by the best one at the time
/// limit. The answer states which.
@Suite struct PendingCommandsTests {
  private func at(_ seconds: Double) -> Timestamp { Timestamp(seconds: seconds) }

  private func fix(_ seconds: Double, _ accuracy: Double? = nil) -> LocationMessage {
    var location = Location(timestamp: at(seconds), coordinate: Coordinate(latitude: 48, longitude: 11))
    location.horizontalAccuracy = accuracy
    return LocationMessage(
      identity: nil, time: UTCTime(nanoseconds: Int64(seconds) * 1_000_000_000),
      location: PrivacyPolicy.unrestricted(location))
  }

  private let sender = PendingCommands.Sender(
    command: "locate", request: RemoteRequest(subject: .command("locate"), payload: []))

  @Test(arguments: [
    // Accuracy in m of the fixes at seconds 1, 2, 3, …; second of the answer; second of its fix; true if sufficient.
    ([180.0, 60, 30, 10], 3.0, 3.0, true), ([20], 1, 1, true), ([180, 90, 120, 90, 200], 10, 4, false),
  ])
  func firstSufficientFixOrBestAnswers(radii: [Double], answered: Double, which: Double, isSufficient: Bool)
    throws
  {
    var commands = PendingCommands()
    commands.locate(sender, accuracy: 50, since: at(0.5), until: at(10))
    var answer: (seconds: Double, found: PendingCommands.Found?)?
    for second in 1...12 {
      if second <= radii.count {
        commands.observe(fix(Double(second), radii[second - 1]), radius: radii[second - 1])
      }
      if let found = commands.located(at: at(Double(second)), isConfirmed: false).first {
        answer = answer ?? (Double(second), found.1)
      }
    }
    let found = try #require(answer?.found)
    #expect(answer?.seconds == answered && found.location.location.timestamp == at(which))
    #expect(found.isFresh && found.isSufficient == isSufficient)
    #expect(commands.nextDeadline == nil)
  }

  /// A position from before the command is sufficient only while rest confirms it.
  @Test(arguments: [(5.0, true), (50, true), (51, false), (nil, false)])
  func lastKnownPositionAnswersWithoutNewFix(radius: Double?, isAccurate: Bool) throws {
    for isConfirmed in [true, false] {
      var commands = PendingCommands()
      commands.observe(fix(1, radius), radius: radius)
      commands.locate(sender, accuracy: 50, since: at(2), until: at(10))
      #expect(commands.located(at: at(9), isConfirmed: isConfirmed).isEmpty)
      let found = try #require(commands.located(at: at(10), isConfirmed: isConfirmed).first?.1)
      #expect(!found.isFresh && found.location.location.timestamp == at(1))
      #expect(found.isSufficient == (isAccurate && isConfirmed))
    }
  }

  /// After a change of the settings, earlier positions answer no command.
  @Test func forgottenPositionsAnswerNothing() throws {
    var commands = PendingCommands()
    commands.observe(fix(1), radius: 5)
    commands.locate(sender, accuracy: 50, since: at(2), until: at(10))
    commands.observe(fix(3), radius: 90)
    let search = try #require(commands.search)
    #expect(search.accuracy == 50 && search.deadline == at(10))
    commands.forgetPositions()
    #expect(try #require(commands.located(at: at(10), isConfirmed: true).first).1 == nil)
    commands.locate(sender, accuracy: 50, since: at(12), until: at(20))
    #expect(commands.endSearches().count == 1 && commands.search == nil && commands.nextDeadline == nil)
  }

  /// A position that was measured before the command but arrives later is not fresh.
  @Test func positionBeforeTheCommandIsNotFresh() throws {
    var commands = PendingCommands()
    commands.locate(sender, accuracy: 50, since: at(2), until: at(10))
    commands.observe(fix(1), radius: 5)
    #expect(commands.located(at: at(3), isConfirmed: false).isEmpty)
    commands.observe(fix(4, 5), radius: 5)
    let found = try #require(commands.located(at: at(4), isConfirmed: false).first?.1)
    #expect(found.isFresh && found.isSufficient && found.location.location.timestamp == at(4))
  }

  /// Privacy and reduced accuracy move the position in the answer: the search ends, but the answer is not as accurate as
  /// requested.
  @Test func movedPositionEndsTheSearchAndIsNotSufficient() throws {
    var commands = PendingCommands()
    commands.locate(sender, accuracy: 10, since: at(0.5), until: at(60))
    commands.observe(fix(2, 3572), radius: 3)
    let found = try #require(commands.located(at: at(2), isConfirmed: false).first?.1)
    #expect(found.isFresh && !found.isSufficient)
  }

  /// A receiver that starts cold finds a position within the default time.
  @Test func defaultTimeoutAllowsAColdStart() throws {
    guard case .locate(_, let timeout) = try RemoteCommand(name: "locate", arguments: .object([:])) else {
      Issue.record("not locate")
      return
    }
    #expect(timeout >= FixDelay().cold + 10)
  }

  @Test func fixWithoutAccuracySatisfiesNoRequest() throws {
    var commands = PendingCommands()
    commands.locate(sender, accuracy: 50, since: at(0.5), until: at(10))
    commands.observe(fix(2), radius: nil)
    #expect(commands.located(at: at(9), isConfirmed: false).isEmpty)
    let found = try #require(commands.located(at: at(10), isConfirmed: false).first?.1)
    #expect(found.isFresh && !found.isSufficient)
  }

  /// A measurement lasts up to 20 s. The number of requests waiting for it is limited.
  @Test func waitingLevelRequestsAreLimited() {
    var commands = PendingCommands()
    var taken = 0
    for _ in 0..<1000 where commands.awaitLevel(sender, after: 3) { taken += 1 }
    let (early, answered) = (commands.measured(level: 3), commands.measured(level: 4))
    #expect(taken == PendingCommands.capacity && early.isEmpty && answered.count == taken)
    let hasRoom = commands.awaitLevel(sender, after: 4)
    #expect(hasRoom)
  }
}
