internal import JSON
internal import Spatial

// Checks shared by all messages. Unknown fields are ignored because they are never read.

extension JSONValue {
  func requiredTime(_ name: String) throws(JSONError) -> UTCTime {
    guard let text = self[name]?.string else { throw JSONError("key \"\(name)\": missing or not a string") }
    guard let time = UTCTime(rfc3339: text) else {
      throw JSONError("key \"\(name)\": \"\(text.prefix(40))\" is not an RFC 3339 time")
    }
    return time
  }

  var vector: Vector3? {
    guard let numbers = array?.compactMap(\.double), numbers.count == 3 else { return nil }
    return Vector3(numbers[0], numbers[1], numbers[2])
  }

  /// Identity in the payload of a message; nil if the payload contains none.
  package var identity: MessageIdentity? {
    guard let epoch = self["epoch"]?.string, let seq = self["seq"]?.integer, seq >= 0 else { return nil }
    return MessageIdentity(epoch: epoch, seq: UInt64(seq))
  }
}

extension JSONWriter {
  mutating func field(_ name: StaticString, _ vector: Vector3?, decimals: Int) {
    guard let vector, vector.isFinite else { return }
    field(name, numbers: [vector.x, vector.y, vector.z], decimals: decimals)
  }

  mutating func write(_ identity: MessageIdentity?) {
    guard let identity else { return }
    field("epoch", identity.epoch)
    field("seq", identity.seq)
  }
}
