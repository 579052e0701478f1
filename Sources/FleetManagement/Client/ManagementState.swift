package import Fleet
internal import JSON
package import MQTT
package import Platform
package import Spatial
internal import Telemetry

/// The state of a management client: retained documents, commands, and the operations that wait for an outcome.
///
/// A value type without I/O and clock.
package struct ManagementState: Sendable {
  /// Identifies an operation that waits for its outcome.
  package struct Ticket: Hashable, Sendable { fileprivate let number: UInt64 }

  package enum Outcome: Sendable {
    /// The client has received all retained messages.
    case read
    /// The time limit for the connection or for the retained messages is over.
    case notRead
    case reports(RequestOutcomes)
    case command(CommandRequest)
  }

  /// The end of an operation, with its outcome.
  package typealias Effect = (ticket: Ticket, outcome: Outcome)

  /// An operation that waits until a time.
  private struct Wait: Sendable {
    enum Subject: Sendable {
      case reading(connectBy: MonotonicTime)
      case reports
      case command(CommandRequest, awaitsResponse: Bool)
    }

    var subject: Subject
    var until: MonotonicTime
  }

  /// The origin of a message that the broker has not acknowledged.
  private enum Origin: Sendable {
    case document(Ticket, VehicleKey, MQTTMessage)
    case command(id: String)
  }

  package let root: String
  /// The paths below a vehicle whose messages are stored; nil for all retained messages.
  private let paths: Set<String>?
  /// The broker's user, for errors.
  private let user: String
  package private(set) var documents: DocumentStore
  package private(set) var commands = CommandHistory()
  package private(set) var isConnected = false
  /// True after all retained messages were received once.
  package private(set) var isRead = false
  /// The progress of reading retained messages; nil without a connection.
  package private(set) var reading: RetainedReading?
  /// The number of received retained messages with a path that is stored.
  package private(set) var retainedCount = 0
  /// The number of received messages that repeated a stored one.
  package private(set) var copies = 0
  private var origins: [UInt64: Origin] = [:]
  /// The number of connections that ended before the broker acknowledged a document, by its token.
  private var losses: [UInt64: Int] = [:]
  private var waits: [Ticket: Wait] = [:]
  private var reports: [Ticket: RequestOutcomes] = [:]
  private var ticketCount: UInt64 = 0

  /// Creates the state of a client without a connection.
  ///
  /// - Parameters:
  ///   - paths: the paths below a vehicle whose messages are stored; nil for all retained messages.
  ///   - largestTotal: the maximum size of the stored messages in bytes.
  ///   - user: the broker's user, for errors.
  package init(
    root: String, paths: Set<String>? = nil, largestTotal: Int = .max, user: String = "this user"
  ) {
    (self.root, self.paths, self.user) = (root, paths, user)
    documents = DocumentStore(largestTotal: largestTotal)
  }

  // MARK: Input

  package mutating func connected(at now: MonotonicTime) {
    isConnected = true
    reading = RetainedReading(at: now)
    documents.beginConnection()
  }

  /// The number of connections after whose end a server no longer sends an unacknowledged document. Some brokers
  /// close the connection at each message that they reject, which ends the live display of the fleet each time.
  private static let mostLosses = 3

  /// Records the end of the connection.
  /// - Returns: the tokens of documents that must be withdrawn, because they may be the cause.
  @discardableResult
  package mutating func disconnected(at now: MonotonicTime) -> [UInt64] {
    let wasConnected = isConnected
    (isConnected, reading) = (false, nil)
    guard wasConnected, paths != nil else { return [] }
    var withdrawn: [UInt64] = []
    for (token, origin) in origins {
      guard case .document(let ticket, let key, _) = origin else { continue }
      let count = (losses[token] ?? 0) + 1
      losses[token] = count
      guard count >= Self.mostLosses else { continue }
      reports[ticket]?.acknowledged(
        key,
        refusal:
          "the connection ended \(count) times before the broker accepted it; check its access list for "
          + user,
        at: now)
      withdrawn.append(token)
    }
    for token in withdrawn { self.withdrawn(token) }
    return withdrawn
  }

  /// Records the broker's answer to the marker subscription, which follows the retained messages.
  package mutating func marked(at now: MonotonicTime) { reading?.marked(at: now) }

  /// Applies a message from the broker.
  /// - Returns: false for a message that repeats a stored one.
  @discardableResult
  package mutating func receive(_ message: MQTTMessage, at now: MonotonicTime, _ time: UTCTime) -> Bool {
    for ticket in Array(reports.keys) { reports[ticket]?.receive(message, at: now) }
    guard let address = TopicAddress(topic: message.topic, root: root) else { return true }
    if paths?.contains(address.path) ?? message.retain {
      // The broker sends what it had retained at the subscription. It may be older than a message of the same
      // connection that was not retained.
      let isOutdated = message.retain && documents.isLive(address.path, of: address.key)
      let isNew =
        !isOutdated
        && documents.apply(message.payload, address.path, of: address.key, isLive: !message.retain)
      if message.retain {
        retainedCount += 1
        // Of several subscriptions only the first delivers anything new.
        if paths == nil || isNew { reading?.kept(at: now) }
      }
      if !isNew { copies += 1 }
      return isNew
    }
    if address.path.hasSuffix("/response") { commands.receive(message, at: address, time) }
    return true
  }

  /// Stores a message that the broker would have retained, for example from a recording.
  package mutating func store(_ message: MQTTMessage) {
    guard let address = TopicAddress(topic: message.topic, root: root) else { return }
    documents.apply(message.payload, address.path, of: address.key)
  }

  /// Records the broker's answer to a published message.
  /// - Parameter reason: the reason of a rejection; nil if the broker accepted the message.
  package mutating func acknowledged(_ token: UInt64, _ reason: MQTTReasonCode?, at now: MonotonicTime) {
    losses[token] = nil
    let refusal = reason.map { "by the broker: \($0); check its access list for \(user)" }
    switch origins.removeValue(forKey: token) {
    case .document(let ticket, let key, let message):
      // The published document is applied now, because the broker sends it back later; concurrent readers
      // get the new state.
      if refusal == nil, let path = TopicAddress(topic: message.topic, root: root)?.path,
        paths?.contains(path) == true
      {
        documents.apply(message.payload, path, of: key, isReceived: false, isLive: true)
      }
      reports[ticket]?.acknowledged(key, refusal: refusal, at: now)
    case .command(let id): commands.settle(id, refusal: refusal)
    case nil: break
    }
  }

  /// Records that a message was withdrawn, so that the broker does not answer.
  mutating func withdrawn(_ token: UInt64) { (origins[token], losses[token]) = (nil, nil) }

  // MARK: Operations

  /// Waits until all retained messages were received.
  /// - Parameters:
  ///   - connectBy: the time at which a missing connection ends the wait.
  ///   - until: the time limit.
  package mutating func read(connectBy: MonotonicTime, until: MonotonicTime) -> Ticket {
    wait(for: .reading(connectBy: connectBy), until: until)
  }

  /// Waits for the outcomes of messages.
  /// - Parameters:
  ///   - request: the addressed vehicles.
  ///   - publish: publishes the message to a vehicle, and returns the token of its acknowledgement, and the
  ///     message.
  package mutating func send(
    _ request: RequestOutcomes, publish: (VehicleKey) -> (token: UInt64, message: MQTTMessage)
  ) -> Ticket {
    let ticket = wait(for: .reports, until: request.deadline)
    reports[ticket] = request
    for key in request.vehicles where request.addressed.contains(key) {
      let (token, message) = publish(key)
      origins[token] = .document(ticket, key, message)
    }
    return ticket
  }

  /// Waits for the response to a command.
  /// - Parameters:
  ///   - awaitsResponse: false to wait only for the broker's acknowledgement.
  ///   - token: the token of the broker's acknowledgement.
  package mutating func send(
    _ request: CommandRequest, awaitsResponse: Bool, until: MonotonicTime, token: UInt64
  ) -> Ticket {
    commands.add(request)
    origins[token] = .command(id: request.id)
    return wait(for: .command(request, awaitsResponse: awaitsResponse), until: until)
  }

  private mutating func wait(for subject: Wait.Subject, until: MonotonicTime) -> Ticket {
    ticketCount += 1
    let ticket = Ticket(number: ticketCount)
    waits[ticket] = Wait(subject: subject, until: until)
    return ticket
  }

  /// Lets the time limit of an operation expire; the next `advance` ends it.
  package mutating func expire(_ ticket: Ticket) { waits[ticket]?.until = .start }

  /// The number of operations that wait.
  package var waitCount: Int { waits.count }

  /// The number of vehicles that have reported to an operation; nil after its end.
  func reportedCount(of ticket: Ticket) -> Int? { reports[ticket]?.reportedCount }

  /// The time at which an operation ends if nothing arrives; nil after its end.
  package func deadline(of ticket: Ticket) -> MonotonicTime? {
    guard let wait = waits[ticket] else { return nil }
    guard case .reading(let connectBy) = wait.subject else { return wait.until }
    return min(wait.until, isConnected ? reading?.completion ?? .distantFuture : connectBy)
  }

  /// Lets time pass, and ends the operations that are complete or whose time limit is over.
  package mutating func advance(to now: MonotonicTime) -> [Effect] {
    if !isRead, reading?.outcome(at: now) == .complete { isRead = true }
    let pending = waits
    return pending.compactMap { ticket, wait in
      guard isComplete(ticket, wait.subject) || deadline(of: ticket) ?? .start <= now else { return nil }
      return end(ticket, wait.subject).map { (ticket, $0) }
    }
  }

  private func isComplete(_ ticket: Ticket, _ subject: Wait.Subject) -> Bool {
    switch subject {
    case .reading: return isRead
    case .reports: return reports[ticket]?.isComplete ?? true
    case .command(let sent, let awaitsResponse):
      guard let request = commands[sent.id] else { return false }
      return request.answer != nil || request.brokerRefusal != nil || (request.isSent && !awaitsResponse)
    }
  }

  private mutating func end(_ ticket: Ticket, _ subject: Wait.Subject) -> Outcome? {
    waits[ticket] = nil
    switch subject {
    case .reading: return isRead ? .read : .notRead
    case .reports: return reports.removeValue(forKey: ticket).map(Outcome.reports)
    case .command(let sent, _): return .command(commands[sent.id] ?? sent)
    }
  }

  // MARK: Vehicles

  /// Returns whether a vehicle accepts configuration, regions and commands; its stored status can decline them.
  func isManaged(_ key: VehicleKey) -> Bool {
    guard let payload = documents.payloads(of: key)[MessageKind.status.rawValue],
      let json = try? JSONValue(parsing: payload), let status = try? StatusMessage(json: json)
    else { return true }
    return status.isManagedRemotely != false
  }
}
