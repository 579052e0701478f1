package import Spatial
package import Telemetry

/// Commands that cannot be answered at once. A value without I/O.
package struct PendingCommands: Sendable {
  /// Who asked, and where the answer goes.
  package struct Sender: Hashable, Sendable {
    package var command: String
    package var id: String?
    package var replyTo: CommandResponseMessage.ReplyAddress?

    package init(command: String, request: RemoteRequest) {
      self.command = command
      replyTo = request.replyTo
    }
  }

  /// Answer to a `locate` command.
  package struct Found: Hashable, Sendable {
    package var location: LocationMessage
    /// Whether it was measured after the command.
    package var isFresh: Bool
    /// Whether its accuracy meets the request.
    package var isSufficient: Bool

    package init(location: LocationMessage, isFresh: Bool, isSufficient: Bool) {
      (self.location, self.isFresh, self.isSufficient) = (location, isFresh, isSufficient)
    }
  }

  private struct Search {
    var sender: Sender
    /// Metres at 68 %.
    var accuracy: Double
    var deadline: Timestamp
    var best: (location: LocationMessage, radius: Double)?
  }

  private var searches: [Search] = []
  private var statuses: [(sender: Sender, after: Int)] = []
  private var levels: [(sender: Sender, after: Int)] = []
  /// The newest position and its accuracy, metres at 68 %.
  private var last: (location: LocationMessage, radius: Double)?

  /// More than this many of a kind do not wait: of those for a position the oldest is answered early, of those for the level
  /// the newest is turned away.
  package static let capacity = 32

  package init() {}

  /// Waits for a fix that is accurate enough until a deadline, and then returns the best one.
  /// - Parameter accuracy: metres at 68 %.
  package mutating func locate(_ sender: Sender, accuracy: Double, until deadline: Timestamp) {
    searches.append(Search(sender: sender, accuracy: accuracy, deadline: deadline))
  }

  /// Takes a position.
  /// - Parameters:
  ///   - location: as it may be told.
  ///   - radius: metres at 68 % of the position as it was measured; nil when the receiver did not say.
  package mutating func observe(_ location: LocationMessage, radius: Double?) {
    let radius = radius ?? .infinity
    last = (location, radius)
    for index in searches.indices where radius <= searches[index].best?.radius ?? .infinity {
      searches[index].best = (location, radius)
    }
  }

  /// Removes and returns the searches that are over: found, or out of time. Without a fix since the command the last known
  /// position is the answer; nil without any.
  package mutating func located(at now: Timestamp) -> [(Sender, Found?)] {
    guard !searches.isEmpty else { return [] }
    let overdue = max(0, searches.count - Self.capacity)
    var ended: [(Sender, Found?)] = []
    var waiting: [Search] = []
    for (index, search) in searches.enumerated() {
      let isSufficient = search.best.map { $0.radius <= search.accuracy } ?? false
      guard isSufficient || index < overdue || search.deadline <= now else {
        waiting.append(search)
        continue
      }
      let found = (search.best ?? last).map {
        Found(location: $0.location, isFresh: search.best != nil, isSufficient: $0.radius <= search.accuracy)
      }
      ended.append((search.sender, found))
    }
    searches = waiting
    return ended
  }

  /// Waits for the status message after the one of this number.
  package mutating func awaitStatus(_ sender: Sender, after number: Int) {
    statuses.append((sender, number))
  }

  package mutating func published(status number: Int) -> [Sender] {
    guard !statuses.isEmpty else { return [] }
    defer { statuses.removeAll { $0.after < number } }
    return statuses.filter { $0.after < number }.map(\.sender)
  }

  /// Waits for the measurement of the level after the one of this number.
  /// - Returns: false when too many wait already.
  package mutating func awaitLevel(_ sender: Sender, after number: Int) -> Bool {
    guard levels.count < Self.capacity else { return false }
    levels.append((sender, number))
    return true
  }

  package mutating func measured(level number: Int) -> [Sender] {
    guard !levels.isEmpty else { return [] }
    defer { levels.removeAll { $0.after < number } }
    return levels.filter { $0.after < number }.map(\.sender)
  }

  /// Those who wait for a measurement that was called off.
  package mutating func endLevels() -> [Sender] {
    defer { levels = [] }
    return levels.map(\.sender)
  }

  /// When a command waits no longer.
  package var nextDeadline: Timestamp? { searches.map(\.deadline).min() }
}
