internal import Positioning

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

  /// Says farewell, hands over what is due as far as that goes in a bounded time, and returns when all has ended.
  func stop(farewell: MessageDraft) throws
}

extension MessageDelivery {
  /// Nothing, where messages do not go by radio.
  var radio: EnergyLedger.Usage { EnergyLedger.Usage(seconds: 0, starts: 0, bytes: 0) }
}
