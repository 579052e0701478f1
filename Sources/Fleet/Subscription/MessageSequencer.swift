internal import MQTT
internal import Telemetry

/// A filter that removes duplicates of durable messages, and sorts those of a vehicle in a batch by their
/// numbers.
///
/// Brokers and vehicles send unacknowledged messages again, so a message can arrive twice, and part of a
/// backlog after newer messages. The received numbers are stored as ranges by vehicle and epoch; there are
/// few ranges as long as few numbers are missing. Messages without numbers pass unchanged.
struct MessageSequencer {
  private struct Key: Hashable {
    var source: String
    var epoch: String
  }

  private var seen: [Key: SeenNumbers] = [:]
  /// A cache from topics to their part before the kind.
  private var sources: [String: String] = [:]

  /// The maximum number of vehicles and epochs. Beyond it the memory is cleared, and duplicates can pass.
  static let most = 200_000

  private(set) var duplicates = 0

  mutating func filter(_ messages: [MQTTMessage]) -> [MQTTMessage] {
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
struct SeenNumbers: Hashable {
  /// Disjoint ranges in ascending order.
  private(set) var ranges: [ClosedRange<Int64>] = []

  /// The maximum number of ranges; the lowest one is dropped beyond it.
  static let mostRanges = 1000

  /// Inserts a number, and returns true if it is new.
  mutating func insert(_ number: Int64) -> Bool {
    var low = 0
    var high = ranges.count
    while low < high {
      let middle = (low + high) / 2
      if ranges[middle].upperBound < number { low = middle + 1 } else { high = middle }
    }
    // `low` is the first range that ends at or after the number.
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
    // Dropping a range can let a duplicate pass; the alternative would lose a message.
    if ranges.count > Self.mostRanges { ranges.removeFirst() }
    return true
  }
}
