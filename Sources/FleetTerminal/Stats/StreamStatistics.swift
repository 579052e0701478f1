package import Fleet
internal import Glibc
internal import JSON
package import MQTT
internal import Spatial
package import Telemetry

/// Statistics of a stream of messages by vehicle: count, size, delay, missing and duplicate messages.
///
/// A value type without I/O. No input traps, and memory is bounded by `capacity`.
package struct StreamStatistics: Sendable {
  /// The vehicle and kind of a topic.
  private struct VehicleTopic: Sendable {
    var vehicle: Int
    var kind: MessageKind?
    /// True for a topic without a kind whose messages have sequence numbers.
    var isNumbered: Bool
  }

  package let root: String
  package let profile: MessageProfile
  /// The maximum number of vehicles.
  package let capacity: Int
  package private(set) var vehicles: [VehicleStatistics] = []
  package private(set) var delays = DelayHistogram()
  package private(set) var messages = 0
  package private(set) var bytes = 0
  package private(set) var retained = 0
  private(set) var retainedBytes = 0
  /// The number of live messages of each kind.
  package private(set) var byKind: [MessageKind: Int] = [:]
  /// The number of payloads of known kinds that are not a JSON object or have an invalid time, including
  /// retained ones.
  package private(set) var unreadable = 0
  /// The number of messages on topics that do not belong to a vehicle.
  package private(set) var foreign = 0
  /// The number of messages of vehicles beyond the capacity.
  package private(set) var withoutRoom = 0
  private var places: [String: VehicleTopic] = [:]
  private var indices: [VehicleKey: Int] = [:]

  /// Creates empty statistics.
  ///
  /// - Parameter root: the topic root; nil for that of the profile.
  package init(root: String? = nil, profile: MessageProfile = .native, capacity: Int = 100_000) {
    self.root = root ?? profile.usualRoot
    self.profile = profile
    self.capacity = max(1, capacity)
  }

  /// The number of cached topics.
  package var cachedTopics: Int { places.count }

  package var duplicates: Int { vehicles.reduce(0) { $0 + $1.duplicates } }
  package var missing: Int {
    vehicles.reduce(0) { sum, vehicle in
      let (total, overflow) = sum.addingReportingOverflow(vehicle.missing)
      return overflow ? .max : total
    }
  }
  package var late: Int { vehicles.reduce(0) { $0 + $1.late } }

  /// Adds a message.
  ///
  /// - Parameter moment: the time of arrival.
  package mutating func add(_ message: MQTTMessage, at moment: Moment) {
    add(topic: message.topic, payload: message.payload, retained: message.retain, at: moment)
  }

  package mutating func add(topic: String, payload: [UInt8], retained: Bool, at moment: Moment) {
    let size = topic.utf8.count + payload.count
    messages += 1
    bytes += size
    if retained {
      self.retained += 1
      retainedBytes += size
    }
    guard let place = place(of: topic) else { return }
    count(payload, size: size, retained: retained, at: moment, place)
  }

  private mutating func count(
    _ payload: [UInt8], size: Int, retained: Bool, at moment: Moment, _ place: VehicleTopic
  ) {
    if retained {
      vehicles[place.vehicle].retained += 1
    } else {
      vehicles[place.vehicle].messages += 1
      vehicles[place.vehicle].bytes += size
    }
    guard let kind = place.kind else {
      if place.isNumbered, !retained, !payload.isEmpty { count(MessageGlance(payload), place) }
      return
    }
    // An empty payload only clears a retained message, and has no content to count.
    let glance = payload.isEmpty ? nil : MessageGlance(payload)
    if !retained {
      // An OwnTracks device publishes its will on its location topic; the will counts as a status.
      byKind[kind == .location && glance?.isWill == true ? .status : kind, default: 0] += 1
    }
    guard let glance else { return }
    guard glance.isObject, !glance.hasWrongTime else {
      unreadable += 1
      vehicles[place.vehicle].unreadable += 1
      return
    }
    // Retained messages do not contribute to gaps and delays.
    guard !retained else { return }
    count(glance, place)
    // No delay is computed for a will, whose time is that of the session start, or for a track, whose time is
    // that of its first fix.
    guard let time = glance.time, !glance.isWill, kind != .track else { return }
    let delay = moment.time.seconds(since: time)
    guard delay > -MessageStamp.clockTolerance, delay < 86_400 else { return }
    vehicles[place.vehicle].add(delay: delay)
    delays.add(delay)
  }

  /// Counts the sequence number of a live message.
  private mutating func count(_ glance: MessageGlance, _ place: VehicleTopic) {
    guard let epoch = glance.epoch, let seq = glance.seq else { return }
    vehicles[place.vehicle].add(epoch: epoch, seq: UInt64(seq))
  }

  private mutating func place(of topic: String) -> VehicleTopic? {
    if let place = places[topic] { return place }
    guard let address = profile.address(of: topic, root: root) else {
      foreign += 1
      return nil
    }
    let key = address.key
    guard let vehicle = index(of: key) else {
      withoutRoom += 1
      return nil
    }
    let place = VehicleTopic(
      vehicle: vehicle, kind: address.kind, isNumbered: profile.numbers(address.path))
    // Only topics of known kinds are cached: the number of vehicles limits their number, but not that of
    // other topics.
    if place.kind != nil { places[topic] = place }
    return place
  }

  private mutating func index(of key: VehicleKey) -> Int? {
    if let index = indices[key] { return index }
    guard vehicles.count < capacity else { return nil }
    indices[key] = vehicles.count
    vehicles.append(VehicleStatistics(key: key))
    return vehicles.count - 1
  }
}

/// The statistics of one vehicle.
package struct VehicleStatistics: Sendable {
  let key: VehicleKey
  /// The number of live messages; retained messages are counted separately.
  package var messages = 0
  var bytes = 0
  var retained = 0
  package var unreadable = 0
  var duplicates = 0
  var late = 0
  /// The number of observed epochs, in each of which sequence numbers start again.
  package var epochs = 0
  /// The sum, number and maximum of delays: seconds from the message's time by the vehicle's clock to its
  /// arrival by the local clock.
  var delaySum = 0.0
  var delayCount = 0
  var longestDelay = 0.0
  /// The number of messages missing in former epochs, which will not arrive any more.
  private var lost: UInt64 = 0
  private var epoch: UInt64?
  private var formerEpoch: UInt64?
  private var sequence: SequenceGaps?

  init(key: VehicleKey) { self.key = key }

  /// The number of missing messages.
  var missing: Int { Int(clamping: lost &+ (sequence?.missing ?? 0)) }

  var meanDelay: Double? { delayCount > 0 ? delaySum / Double(delayCount) : nil }

  mutating func add(epoch new: UInt64, seq: UInt64) {
    if new != epoch {
      // A delayed copy of a message from the former epoch does not start a new one.
      if new == formerEpoch { return }
      lost &+= sequence?.missing ?? 0
      formerEpoch = epoch
      epoch = new
      epochs += 1
      sequence = SequenceGaps(startingWith: seq)
      return
    }
    switch sequence?.insert(seq) {
    case .duplicate: duplicates += 1
    case .late: late += 1
    case .next, .unknown, nil: break
    }
  }

  mutating func add(delay: Double) {
    delaySum += delay
    delayCount += 1
    longestDelay = max(longestDelay, delay)
  }
}

/// A histogram of delays in steps of 5 %, from a millisecond to a day. Its size is constant, and a quantile
/// is accurate to 2.5 %.
package struct DelayHistogram: Hashable, Sendable {
  private static let shortest = 0.001
  private static let ratio = 1.05
  private static let logarithm = log(ratio)
  private static let steps = 376

  private var counts = [Int](repeating: 0, count: steps)
  package private(set) var count = 0
  package private(set) var longest = 0.0

  package init() {}

  /// Adds a delay.
  ///
  /// - Parameter seconds: the delay; negative ones, of a clock ahead, count as zero.
  package mutating func add(_ seconds: Double) {
    guard seconds.isFinite else { return }
    let place = seconds <= Self.shortest ? 0 : Int(log(seconds / Self.shortest) / Self.logarithm) + 1
    counts[min(max(place, 0), Self.steps - 1)] += 1
    count += 1
    longest = max(longest, seconds)
  }

  /// Returns the delay in seconds that a share (0...1) of the messages did not exceed; nil without messages.
  package func quantile(_ share: Double) -> Double? {
    guard count > 0 else { return nil }
    let wanted = Int((Double(count - 1) * max(0, min(1, share))).rounded())
    var sum = 0
    for (place, number) in counts.enumerated() {
      sum += number
      guard sum > wanted else { continue }
      // The result is the middle of the histogram's step, but never above the exact maximum.
      let middle = place == 0 ? Self.shortest / 2 : Self.shortest * pow(Self.ratio, Double(place) - 0.5)
      return min(middle, longest)
    }
    return longest
  }
}

extension StreamStatistics {
  /// Returns all statistics as a JSON object. Delays are in seconds; unknown values are omitted.
  /// - Parameter seconds: the duration of the count.
  package func json(seconds: Double) -> [UInt8] {
    JSONWriter.object { json in
      json.field("seconds", seconds, decimals: 3)
      json.field("messages", messages)
      json.field("bytes", bytes)
      json.field("retained", retained)
      json.field("messagesPerSecond", Double(messages - retained) / seconds, decimals: 3)
      json.field("missing", missing)
      json.field("late", late)
      json.field("duplicates", duplicates)
      json.field("unreadable", unreadable)
      json.field("foreign", foreign)
      json.field("withoutRoom", withoutRoom)
      json.field("delay") { json in
        json.field("median", delays.quantile(0.5), decimals: 4)
        json.field("p95", delays.quantile(0.95), decimals: 4)
        json.field("p99", delays.quantile(0.99), decimals: 4)
        json.field("longest", delays.count > 0 ? delays.longest : nil, decimals: 4)
      }
      json.field("kinds") { json in
        for kind in MessageKind.allCases {
          guard let count = byKind[kind] else { continue }
          json.key(kind.rawValue)
          json.value(count)
        }
      }
      json.key("vehicles")
      json.openArray()
      for vehicle in vehicles.sorted(by: { $0.key < $1.key }) { vehicle.write(to: &json, seconds: seconds) }
      json.closeArray()
    }
  }
}

extension VehicleStatistics {
  fileprivate func write(to json: inout JSONWriter, seconds: Double) {
    json.openObject()
    json.field("fleet", key.fleet)
    json.field("vehicle", key.vehicle)
    json.field("messages", messages)
    json.field("bytes", bytes)
    json.field("retained", retained)
    json.field("messagesPerSecond", Double(messages) / seconds, decimals: 3)
    json.field("bytesPerHour", Double(bytes) / seconds * 3600, decimals: 0)
    json.field("missing", missing)
    json.field("late", late)
    json.field("duplicates", duplicates)
    json.field("unreadable", unreadable)
    json.field("epochs", epochs)
    json.field("meanDelay", meanDelay, decimals: 4)
    json.field("longestDelay", delayCount > 0 ? longestDelay : nil, decimals: 4)
    json.closeObject()
  }
}
