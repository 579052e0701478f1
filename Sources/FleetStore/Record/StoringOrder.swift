internal import Fleet
internal import Spatial

extension RecordedMessage {
  /// Returns a batch in an order that only depends on the messages. Two recorders of the same messages then
  /// lock rows in the same order, without a deadlock. The order is by time first, because PostgreSQL's
  /// partitions are by day, and rows are written one partition after another.
  package static func inStoringOrder(_ messages: [RecordedMessage]) -> [RecordedMessage] {
    let span = messages.span
    var keys: [(time: Int64, index: Int)] = []
    keys.reserveCapacity(span.count)
    var isInOrder = true
    for index in span.indices {
      let time = span[index].fields.time?.milliseconds ?? .min
      if let last = keys.last, last.time >= time { isInOrder = false }
      keys.append((time, index))
    }
    // The times are strictly ascending, as in most batches of one vehicle, so that the order is already
    // determined.
    if isInOrder { return messages }
    keys.sort { first, second in
      guard first.time == second.time else { return first.time < second.time }
      return precedes(messages, first.index, second.index)
    }
    return keys.map { messages[$0.index] }
  }

  /// Returns whether a message precedes another one of the same time.
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
