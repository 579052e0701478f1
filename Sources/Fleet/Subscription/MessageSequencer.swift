package import MQTT
internal import Telemetry

/// A filter that removes duplicates of numbered messages, and sorts each vehicle's messages in a batch by
/// their sequence numbers.
///
/// Brokers and vehicles send unacknowledged messages again. A message can therefore arrive twice, and a part
/// of a backlog can arrive after newer messages. For each vehicle and epoch, the received numbers are stored
/// as ranges; there are few ranges unless many numbers are missing. Messages without sequence numbers are
/// unchanged.
package struct MessageSequencer {
  private struct Key: Hashable {
    var source: String
    var epoch: String
  }

  private var seen: [Key: SeenNumbers] = [:]
  /// A cache of the part of each topic before its last level, which identifies the vehicle.
  private var sources: [String: String] = [:]

  /// The maximum number of combinations of vehicle and epoch. When it is reached, all are forgotten, and
  /// later duplicates are not detected.
  static let most = 200_000

  package private(set) var duplicates = 0

  package init() {}

  package mutating func filter(_ messages: [MQTTMessage]) -> [MQTTMessage] {
    var result: [MQTTMessage] = []
    result.reserveCapacity(messages.count)
    var places: [Key: [(place: Int, seq: Int64)]] = [:]
    for message in messages {
      let fields = PayloadFields(message.payload, onlyIdentity: true)
      guard let epoch = fields.epoch, let seq = fields.seq else {
        result.append(message)
        continue
      }
      let key = Key(source: source(of: message.topic), epoch: epoch)
      if seen.count > Self.most { seen.removeAll() }
      guard seen[key, default: SeenNumbers()].insert(seq) else {
        duplicates += 1
        continue
      }
      places[key, default: []].append((result.count, seq))
      result.append(message)
    }
    for own in places.values where !Self.isSorted(own) {
      let sorted = own.sorted { $0.seq < $1.seq }.map { result[$0.place] }
      for (target, message) in zip(own, sorted) { result[target.place] = message }
    }
    return result
  }

  private static func isSorted(_ own: [(place: Int, seq: Int64)]) -> Bool {
    zip(own, own.dropFirst()).allSatisfy { $0.seq < $1.seq }
  }

  private mutating func source(of topic: String) -> String {
    if let known = sources[topic] { return known }
    if sources.count > Self.most { sources.removeAll() }
    let source = topic.lastIndex(of: "/").map { String(topic[..<$0]) } ?? topic
    sources[topic] = source
    return source
  }
}

/// A set of mostly consecutive numbers.
package struct SeenNumbers: Hashable {
  /// The ranges of received numbers, disjoint and in ascending order.
  package private(set) var ranges: [ClosedRange<Int64>] = []

  /// The maximum number of ranges. When it is exceeded, the lowest range is dropped.
  static let mostRanges = 1000

  package init() {}

  /// Inserts a number; returns true if it is not in the set yet.
  package mutating func insert(_ number: Int64) -> Bool {
    var low = 0
    var high = ranges.count
    while low < high {
      let middle = (low + high) / 2
      if ranges[middle].upperBound < number { low = middle + 1 } else { high = middle }
    }
    // `low` is the index of the first range that does not end before the number.
    if low < ranges.count, ranges[low].contains(number) { return false }
    let joinsLeft = low > 0 && ranges[low - 1].upperBound == number - 1
    let joinsRight = low < ranges.count && number < .max && ranges[low].lowerBound == number + 1
    switch (joinsLeft, joinsRight) {
    case (true, true):
      ranges[low - 1] = ranges[low - 1].lowerBound...ranges[low].upperBound
      ranges.remove(at: low)
    case (true, false): ranges[low - 1] = ranges[low - 1].lowerBound...number
    case (false, true): ranges[low] = number...ranges[low].upperBound
    case (false, false): ranges.insert(number...number, at: low)
    }
    // A duplicate in the dropped range will not be detected. Merging ranges instead could lose a message.
    if ranges.count > Self.mostRanges { ranges.removeFirst() }
    return true
  }
}
