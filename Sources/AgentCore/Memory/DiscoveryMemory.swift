package import StoreAndForward

/// The prefix under which Home Assistant's discovery messages were published, stored in the outbox. If discovery is
/// switched off or has another prefix, the retained messages of the former prefix are removed once.
package struct DiscoveryMemory {
  private static let name = "home assistant"

  /// The prefix whose entities must be removed; nil if there is none.
  package let former: String?
  /// The document for the commit with the first messages; empty if it has not changed.
  package let change: [PreservedDocument]

  /// - Parameters:
  ///   - prefix: the present prefix; nil if discovery is disabled.
  ///   - outbox: nil for an agent that prints, which removes nothing.
  package init(prefix: String?, outbox: Outbox?) {
    let stored = outbox?.document(named: Self.name) ?? []
    let current = Array((prefix ?? "").utf8)
    guard outbox != nil, stored != current else {
      (former, change) = (nil, [])
      return
    }
    former = stored.isEmpty ? nil : String(decoding: stored, as: UTF8.self)
    change = [PreservedDocument(name: Self.name, bytes: current)]
  }
}
