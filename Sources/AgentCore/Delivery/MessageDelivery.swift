internal import Positioning
internal import Spatial
internal import Telemetry

/// Where the pipeline's messages go: to a broker through the durable queue, or to standard output.
protocol MessageDelivery: AnyObject, Sendable {
  /// Takes messages in order. When it returns, what must not be lost is stored.
  ///
  /// - Throws: an error that ends the agent, when nothing can be taken in any more.
  func accept(_ drafts: [MessageDraft]) throws

  /// Counts for `status`, by name.
  var counters: [String: Int] { get }

  /// What was used of the radio since the start.
  var radio: EnergyLedger.Usage { get }
  /// Why messages are kept in memory only; nil while they are safe.
  var storeProblem: String? { get }

  /// How the connection to a broker stands; nil where messages do not go to one.
  var link: LinkReport? { get }

  /// The civil time that the will of the last session with a broker carries; nil before the first.
  var sessionStart: UTCTime? { get }

  /// Learns the last `status`, for what has to be said when the pipeline is not asked.
  func note(_ status: StatusMessage)

  /// Learns whether the vehicle rests, for what a link may cost.
  func note(isAtRest: Bool, at timestamp: Timestamp)

  /// Says farewell, hands over what is due as far as that goes in a bounded time, and returns when all has ended.
  func stop(farewell: MessageDraft) throws
}

extension MessageDelivery {
  /// Nothing, where messages do not go by radio.
  var radio: EnergyLedger.Usage { EnergyLedger.Usage(seconds: 0, starts: 0, bytes: 0) }
  var storeProblem: String? { nil }
  var link: LinkReport? { nil }
  var sessionStart: UTCTime? { nil }
  func note(_ status: StatusMessage) {}
  func note(isAtRest: Bool, at timestamp: Timestamp) {}
}
