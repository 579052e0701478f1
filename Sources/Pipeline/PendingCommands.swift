internal import Positioning
package import Spatial
package import Telemetry

/// Commands whose response must wait. A value without I/O.
package struct PendingCommands: Sendable {
  /// The sender of a command, to whom the response is published.
  package struct Sender: Hashable, Sendable {
    package var command: String
    package var id: String?
    package var replyTo: CommandResponseMessage.ReplyAddress?
    /// True if the command has the OwnTracks format; it is then answered by a location message.
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
    /// True if the position was measured after the command.
    package var isFresh: Bool
    /// True if the position in the answer, which privacy or reduced accuracy may have made less accurate, is as
    /// accurate as requested, and still valid.
    package var isSufficient: Bool

    /// - Parameters:
    ///   - isValid: true if the vehicle is still at the position.
    ///   - accuracy: the requested accuracy in m (68 %).
    package init(location: LocationMessage, isFresh: Bool, isValid: Bool, accuracy: Double) {
      (self.location, self.isFresh) = (location, isFresh)
      isSufficient = isValid && location.location.horizontalAccuracy.map { $0 <= accuracy } ?? false
    }
  }

  private struct Search {
    var sender: Sender
    /// Required accuracy in m (68 %).
    var accuracy: Double
    /// Time of the command: only later positions answer it.
    var start: Timestamp
    var deadline: Timestamp
    var best: (location: LocationMessage, radius: Double)?
  }

  private var searches: [Search] = []
  private var statuses: [(sender: Sender, after: Int)] = []
  private var levels: [(sender: Sender, after: Int)] = []
  /// The newest position, and its accuracy in m (68 %) before privacy; infinite if unknown.
  private var last: (location: LocationMessage, radius: Double)?

  /// Maximum number of waiting commands of a kind. If there are more, the oldest `locate` command is answered
  /// early, and the newest `level` command is rejected.
  package static let capacity = 32

  package init() {}

  /// Waits until a deadline for a fix that is accurate enough. At the deadline, the most accurate fix is the
  /// answer.
  /// - Parameters:
  ///   - sender: the sender of the command.
  ///   - accuracy: required accuracy in m (68 %).
  ///   - start: time of the command, by the clock of the positions' timestamps.
  ///   - deadline: the deadline, by the clock of `located(at:isConfirmed:)`.
  package mutating func locate(
    _ sender: Sender, accuracy: Double, since start: Timestamp, until deadline: Timestamp
  ) {
    searches.append(Search(sender: sender, accuracy: accuracy, start: start, deadline: deadline))
  }

  /// Processes a position.
  /// - Parameters:
  ///   - location: the position with privacy applied.
  ///   - radius: accuracy in m (68 %) of the measurement before privacy; nil if unknown.
  package mutating func observe(_ location: LocationMessage, radius: Double?) {
    let radius = radius ?? .infinity
    last = (location, radius)
    let time = location.location.timestamp
    for index in searches.indices
    where time > searches[index].start && radius <= searches[index].best?.radius ?? .infinity {
      searches[index].best = (location, radius)
    }
  }

  /// Discards all positions, because other settings determine now which positions may be published.
  package mutating func forgetPositions() {
    last = nil
    for index in searches.indices { searches[index].best = nil }
  }

  /// The waiting `locate` commands with the most demanding accuracy in m and the latest deadline; nil if none waits.
  package var search: (accuracy: Double, deadline: Timestamp)? {
    guard let accuracy = searches.map(\.accuracy).min(), let deadline = searches.map(\.deadline).max() else {
      return nil
    }
    return (accuracy, deadline)
  }

  /// Removes and returns the senders of all waiting `locate` commands, because locations were disabled.
  package mutating func endSearches() -> [Sender] {
    defer { searches = [] }
    return searches.map(\.sender)
  }

  /// Removes and returns the `locate` commands that have found a position or timed out, each with its answer.
  /// Without a fix since the command, the last known position is the answer; nil if there is none.
  /// - Parameters:
  ///   - now: the current time.
  ///   - isConfirmed: true if rest confirms the last known position.
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
          isValid: search.best != nil || isConfirmed, accuracy: search.accuracy)
      }
      ended.append((search.sender, found))
    }
    searches = waiting
    return ended
  }

  /// Waits for a `status` message.
  /// - Parameter number: the number of `status` messages so far; a later one answers the command.
  package mutating func awaitStatus(_ sender: Sender, after number: Int) {
    statuses.append((sender, number))
  }

  package mutating func published(status number: Int) -> [Sender] {
    guard !statuses.isEmpty else { return [] }
    defer { statuses.removeAll { $0.after < number } }
    return statuses.filter { $0.after < number }.map(\.sender)
  }

  /// Waits for the outcome of a tilt measurement.
  /// - Parameter number: the number of tilt measurements so far; a later one answers the command.
  /// - Returns: false if too many commands are waiting.
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

  /// Removes and returns the senders that wait for a tilt measurement, because it was cancelled.
  package mutating func endLevels() -> [Sender] {
    defer { levels = [] }
    return levels.map(\.sender)
  }

  /// The earliest deadline of a waiting `locate` command; nil if there is none.
  package var nextDeadline: Timestamp? { searches.map(\.deadline).min() }
}
