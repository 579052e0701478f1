/// A character in the text of a message that libmosquitto rejects.
struct TextFault: Equatable, CustomStringConvertible {
  /// nil if the text is not UTF-8.
  var codePoint: UInt32?
  /// Whether it is in the topic; in a property otherwise.
  var isInTopic: Bool

  var description: String {
    let digits = codePoint.map { String($0, radix: 16, uppercase: true) }
    let character = digits.map { "U+" + String(repeating: "0", count: max(0, 4 - $0.count)) + $0 }
    return (character ?? "invalid UTF-8") + (isInTopic ? " in the topic" : " in a property")
  }
}

/// The messages to drop when libmosquitto hands them over.
///
/// The library hands over messages of QoS 0 and 1 in the order in which they came, those of QoS 2 when the broker releases their
/// packet identifier.
struct UnwantedMessages {
  private var began: UInt64 = 0
  private var handedOver: UInt64 = 0
  /// The faults of messages of QoS 0 and 1 by their number on this connection, oldest first.
  private var inOrder: [(number: UInt64, fault: TextFault)] = []
  private var byIdentifier: [UInt16: TextFault] = [:]

  /// Counts a PUBLISH that passes.
  mutating func began(_ quality: UInt8) { if quality < 2 { began += 1 } }

  /// Marks the PUBLISH that began last.
  mutating func mark(_ fault: TextFault, quality: UInt8, identifier: UInt16) {
    if quality < 2 { inOrder.append((began, fault)) } else { byIdentifier[identifier] = fault }
  }

  /// Forgets what a packet identifier of QoS 2 meant before.
  mutating func restarted(_ identifier: UInt16) {
    if !byIdentifier.isEmpty { byIdentifier[identifier] = nil }
  }

  /// Returns why the message that the library hands over is to be dropped; nil if it is not.
  mutating func handedOver(quality: UInt8, identifier: UInt16) -> TextFault? {
    guard quality < 2 else { return byIdentifier.removeValue(forKey: identifier) }
    handedOver += 1
    guard inOrder.first?.number == handedOver else { return nil }
    return inOrder.removeFirst().fault
  }
}
