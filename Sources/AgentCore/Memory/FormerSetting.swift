internal import Bytes
internal import Pipeline
internal import Positioning
package import StoreAndForward

/// A setting of the previous run, stored in the outbox. Retained messages that the setting has caused are removed once
/// after it has changed.
package struct FormerSetting {
  /// The previous value; nil if it is unknown, empty or unchanged.
  package let value: String?
  /// The document for the commit with the first messages; empty if it has not changed.
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

extension AgentConfiguration {
  /// Digest of the settings that decide which positions may be published.
  package var positionDigest: String {
    let location = pipeline.location
    let settings = "\(location.isEnabled) \(location.desiredAccuracy == .reduced) \(pipeline.privacy)"
    return String(FNV1a.hash64(Array(settings.utf8)), radix: 16)
  }
}
