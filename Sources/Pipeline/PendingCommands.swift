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

  private var locates: [(sender: Sender, deadline: Timestamp)] = []
  private var statuses: [(sender: Sender, after: Int)] = []
  private var lastLocation: LocationMessage?
  private var isFresh = false

  /// More than this many of a kind do not wait: the oldest is answered early.
  private static let capacity = 32

  package init() {}

  /// Waits for the next fix until a deadline.
  package mutating func locate(_ sender: Sender, until deadline: Timestamp) {
    isFresh = false
    locates.append((sender, deadline))
  }

  package mutating func observe(_ location: LocationMessage) {
    lastLocation = location
    isFresh = true
  }

  /// The position at the end, and whether it was measured after the command came.
  package mutating func located(at now: Timestamp) -> [(Sender, LocationMessage?, isFresh: Bool)] {
    guard !locates.isEmpty else { return [] }
    if isFresh {
      defer { locates = [] }
      return locates.map { ($0.sender, lastLocation, true) }
    }
    let overdue = max(0, locates.count - Self.capacity)
    let due = locates.enumerated().filter { $0.offset < overdue || $0.element.deadline <= now }.map(\.element)
    locates = Array(locates.dropFirst(overdue)).filter { $0.deadline > now }
    return due.map { ($0.sender, lastLocation, false) }
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

  /// When a command waits no longer.
  package var nextDeadline: Timestamp? { locates.map(\.deadline).min() }
}
