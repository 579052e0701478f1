/// A character in the text of a message that libmosquitto rejects.
struct TextFault: Equatable, CustomStringConvertible {
  /// The rejected code point; nil if the text is not UTF-8.
  var codePoint: UInt32?
  /// True if the fault is in the topic, false if it is in a property.
  var isInTopic: Bool

  var description: String {
    let digits = codePoint.map { String($0, radix: 16, uppercase: true) }
    let character = digits.map { "U+" + String(repeating: "0", count: max(0, 4 - $0.count)) + $0 }
    return (character ?? "invalid UTF-8") + (isInTopic ? " in the topic" : " in a property")
  }
}

/// Messages to drop when libmosquitto hands them over.
///
/// The library hands over messages of QoS 0 and 1 in order of arrival, those of QoS 2 when the broker
/// releases their packet identifier.
struct UnwantedMessages {
  private var began: UInt64 = 0
  private var handedOver: UInt64 = 0
  /// Faults of messages of QoS 0 and 1 by their number on this connection, oldest first.
  private var inOrder: [(number: UInt64, fault: TextFault)] = []
  private var byIdentifier: [UInt16: TextFault] = [:]

  /// Counts a PUBLISH that passes.
  mutating func began(_ quality: UInt8) { if quality < 2 { began += 1 } }

  /// Marks the PUBLISH that started last.
  mutating func mark(_ fault: TextFault, quality: UInt8, identifier: UInt16) {
    if quality < 2 { inOrder.append((began, fault)) } else { byIdentifier[identifier] = fault }
  }

  /// Clears the mark of an earlier message that had the same packet identifier at QoS 2.
  mutating func restarted(_ identifier: UInt16) {
    if !byIdentifier.isEmpty { byIdentifier[identifier] = nil }
  }

  /// Returns why the message that the library hands over must be dropped; nil if it is valid.
  mutating func handedOver(quality: UInt8, identifier: UInt16) -> TextFault? {
    guard quality < 2 else { return byIdentifier.removeValue(forKey: identifier) }
    handedOver += 1
    guard inOrder.first?.number == handedOver else { return nil }
    return inOrder.removeFirst().fault
  }
}
