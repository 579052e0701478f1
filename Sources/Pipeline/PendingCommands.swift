internal import Positioning
package import Spatial
package import Telemetry

/// Commands that cannot be answered immediately. A value without I/O.
package struct PendingCommands: Sendable {
  /// Sender of a command, with the response topic.
  package struct Sender: Hashable, Sendable {
    package var command: String
    package var id: String?
    package var replyTo: CommandResponseMessage.ReplyAddress?
    /// Whether the request is one of the OwnTracks format, whose answer is a location message.
    package let isOwnTracks: Bool

    package init(command: String, request: RemoteRequest) {
      self.command = command
      isOwnTracks = request.subject == .ownTracks
      replyTo = request.replyTo
    }
  }

  /// Answer to a `locate` command.
  package struct Found: Hashable, Sendable {
    package var location: LocationMessage
    /// True if it was measured after the command.
    package var isFresh: Bool
    /// True if its accuracy meets the request.
    package var isSufficient: Bool

    package init(location: LocationMessage, isFresh: Bool, isSufficient: Bool) {
      (self.location, self.isFresh, self.isSufficient) = (location, isFresh, isSufficient)
    }
  }

  private struct Search {
    var sender: Sender
    /// Required accuracy in m (68 %).
    var accuracy: Double
    /// Only positions of a later time are fresh.
    var start: Timestamp
    var deadline: Timestamp
    var best: (location: LocationMessage, radius: Double)?
  }

  private var searches: [Search] = []
  private var statuses: [(sender: Sender, after: Int)] = []
  private var levels: [(sender: Sender, after: Int)] = []
  /// The newest position and its accuracy in m (68 %).
  private var last: (location: LocationMessage, radius: Double)?

  /// Maximum number of waiting commands of a kind. Beyond it, the oldest position request is answered early,
  /// and the newest level request is rejected.
  package static let capacity = 32

  package init() {}

  /// Waits for a fix that is accurate enough until a deadline, and then returns the best one.
  /// - Parameters:
  ///   - accuracy: metres at 68 %.
  ///   - start: the time of the command, on the time line of the positions.
  ///   - deadline: on the time line of `located(at:)`.
  package mutating func locate(
    _ sender: Sender, accuracy: Double, since start: Timestamp, until deadline: Timestamp
  ) {
    searches.append(Search(sender: sender, accuracy: accuracy, start: start, deadline: deadline))
  }

  /// Processes a position.
  /// - Parameters:
  ///   - location: the position as it may be published.
  ///   - radius: accuracy in m (68 %) of the measurement; nil if unknown.
  package mutating func observe(_ location: LocationMessage, radius: Double?) {
    let radius = radius ?? .infinity
    last = (location, radius)
    let time = location.location.timestamp
    for index in searches.indices
    where time > searches[index].start && radius <= searches[index].best?.radius ?? .infinity {
      searches[index].best = (location, radius)
    }
  }

  /// Removes and returns the searches that are over: found, or timed out. Without a fix since the command the last known position
  /// is the answer; nil without any.
  /// - Parameter isConfirmed: whether rest confirms the last known position.
  package mutating func located(at now: Timestamp, isConfirmed: Bool) -> [(Sender, Found?)] {
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
        Found(
          location: $0.location, isFresh: search.best != nil,
          isSufficient: (search.best != nil || isConfirmed) && $0.radius <= search.accuracy)
      }
      ended.append((search.sender, found))
    }
    searches = waiting
    return ended
  }

  /// Waits for the status message after the one with this number.
  package mutating func awaitStatus(_ sender: Sender, after number: Int) {
    statuses.append((sender, number))
  }

  package mutating func published(status number: Int) -> [Sender] {
    guard !statuses.isEmpty else { return [] }
    defer { statuses.removeAll { $0.after < number } }
    return statuses.filter { $0.after < number }.map(\.sender)
  }

  /// Waits for the level measurement after the one with this number.
  /// - Returns: false if too many are waiting.
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

  /// Removes and returns the senders waiting for a measurement that was cancelled.
  package mutating func endLevels() -> [Sender] {
    defer { levels = [] }
    return levels.map(\.sender)
  }

  /// The earliest deadline of a waiting command.
  package var nextDeadline: Timestamp? { searches.map(\.deadline).min() }
}
