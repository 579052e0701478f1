package import StoreAndForward

/// A setting that was stored in the outbox, usually by the previous run. Retained messages that the setting has caused are
/// removed once after it has changed.
package struct FormerSetting {
  /// The previous value; nil if it is unknown, empty or unchanged.
  package let value: String?
  /// The document for the commit with the removal; empty if it has not changed.
  package let change: [PreservedDocument]

  /// - Parameters:
  ///   - name: name of the document in the store.
  ///   - current: the present value; empty for none.
  ///   - outbox: nil for an agent that prints, which removes nothing.
  package init(_ name: String, current: String, outbox: Outbox?) {
    let stored = outbox?.document(named: name) ?? []
    let current = Array(current.utf8)
    guard outbox != nil, stored != current else {
      (value, change) = (nil, [])
      return
    }
    value = stored.isEmpty ? nil : String(decoding: stored, as: UTF8.self)
    change = [PreservedDocument(name: name, bytes: current)]
  }
}
