internal import Fleet
internal import Spatial

extension RecordedMessage {
  /// A batch in an order that follows from what the messages say alone: two recorders that have the same messages come to each
  /// other's in the same order, so that one waits for the other and both never do. By time first, as rows go into a
  /// database partition by partition.
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
    // Of different times all of them, as one vehicle's mostly come.
    if isInOrder { return messages }
    keys.sort { first, second in
      guard first.time == second.time else { return first.time < second.time }
      return precedes(messages, first.index, second.index)
    }
    return keys.map { messages[$0.index] }
  }

  /// Of the same time.
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
