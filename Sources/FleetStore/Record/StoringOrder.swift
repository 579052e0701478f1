internal import Fleet
internal import Spatial

extension RecordedMessage {
  /// Returns a batch in an order that depends on the messages alone, so that two recorders with the same
  /// messages wait for each other without a deadlock. Sorted by time first, because rows are written
  /// partition by partition.
  static func inStoringOrder(_ messages: [RecordedMessage]) -> [RecordedMessage] {
    let span = messages.span
    var keys: [(time: Int64, index: Int)] = []
    keys.reserveCapacity(span.count)
    var isInOrder = true
    for index in span.indices {
      let time = span[index].fields.time?.milliseconds ?? .min
      if let last = keys.last, last.time >= time { isInOrder = false }
      keys.append((time, index))
    }
    // All times differ, as in most batches of one vehicle.
    if isInOrder { return messages }
    keys.sort { first, second in
      guard first.time == second.time else { return first.time < second.time }
      return precedes(messages, first.index, second.index)
    }
    return keys.map { messages[$0.index] }
  }

  /// Compares messages with the same time.
  private static func precedes(_ messages: [RecordedMessage], _ first: Int, _ second: Int) -> Bool {
    if messages[first].topic != messages[second].topic {
      return messages[first].topic < messages[second].topic
    }
    let (one, other) = (messages[first].fields, messages[second].fields)
    if one.epoch != other.epoch { return (one.epoch ?? "") < (other.epoch ?? "") }
    if one.seq != other.seq { return (one.seq ?? .min) < (other.seq ?? .min) }
    let (hash, otherHash) = (messages[first].hash ?? .min, messages[second].hash ?? .min)
    return hash == otherHash ? first < second : hash < otherHash
  }
}
