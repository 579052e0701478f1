internal import Fleet
internal import Glibc
internal import JSON
internal import MQTT
internal import Spatial
internal import Telemetry

/// Counts a stream of messages: how many, how large, how late, which are missing and which came twice, by vehicle.
///
/// A value without any I/O. Nothing that arrives can trap, and memory is bounded by `capacity`.
struct StreamStatistics: Sendable {
  /// Where a topic is counted.
  private struct Place: Sendable {
    var vehicle: Int
    var kind: MessageKind?
  }

  let root: String
  let profile: MessageProfile
  /// Vehicles at most.
  let capacity: Int
  private(set) var vehicles: [VehicleStatistics] = []
  private(set) var delays = DelayHistogram()
  private(set) var messages = 0
  private(set) var bytes = 0
  private(set) var retained = 0
  private(set) var retainedBytes = 0
  /// Live messages.
  private(set) var byKind: [MessageKind: Int] = [:]
  /// Payloads of this contract's kinds that are no JSON object or of no time, kept ones among them.
  private(set) var unreadable = 0
  /// Topics that are no vehicle's.
  private(set) var foreign = 0
  /// Messages of vehicles for which there was no room.
  private(set) var withoutRoom = 0
  private var places: [String: Place] = [:]
  private var indices: [VehicleKey: Int] = [:]

  /// - Parameter root: nil for the profile's usual one.
  init(root: String? = nil, profile: MessageProfile = .native, capacity: Int = 100_000) {
    self.root = root ?? profile.usualRoot
    self.profile = profile
    self.capacity = max(1, capacity)
  }

  /// Topics whose place is remembered.
  var cachedTopics: Int { places.count }

  var duplicates: Int { vehicles.reduce(0) { $0 + $1.duplicates } }
  var missing: Int {
    vehicles.reduce(0) { sum, vehicle in
      let (total, overflow) = sum.addingReportingOverflow(vehicle.missing)
      return overflow ? .max : total
    }
  }
  var late: Int { vehicles.reduce(0) { $0 + $1.late } }

  /// - Parameter moment: of arrival.
  mutating func add(_ message: MQTTMessage, at moment: Moment) {
    add(topic: message.topic, payload: message.payload, retained: message.retain, at: moment)
  }

  mutating func add(topic: String, payload: [UInt8], retained: Bool, at moment: Moment) {
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
    _ payload: [UInt8], size: Int, retained: Bool, at moment: Moment, _ place: Place
  ) {
    if retained {
      vehicles[place.vehicle].retained += 1
    } else {
      vehicles[place.vehicle].messages += 1
      vehicles[place.vehicle].bytes += size
    }
    guard let kind = place.kind else { return }
    // An empty payload takes a kept message back.
    let glance = payload.isEmpty ? nil : MessageGlance(payload)
    if !retained {
      // An OwnTracks device's will comes on the topic of its locations.
      byKind[kind == .location && glance?.isWill == true ? .status : kind, default: 0] += 1
    }
    guard let glance else { return }
    guard glance.isObject, !glance.hasWrongTime else {
      unreadable += 1
      vehicles[place.vehicle].unreadable += 1
      return
    }
    // What was kept says nothing of gaps and delays.
    guard !retained else { return }
    if let epoch = glance.epoch, let seq = glance.seq {
      vehicles[place.vehicle].add(epoch: epoch, seq: UInt64(seq))
    }
    // A will carries the time at which it was left with the broker, and a track that of its first fix.
    guard let time = glance.time, !glance.isWill, kind != .track else { return }
    let delay = moment.time.seconds(since: time)
    guard delay > -MessageStamp.clockTolerance, delay < 86_400 else { return }
    vehicles[place.vehicle].add(delay: delay)
    delays.add(delay)
  }

  private mutating func place(of topic: String) -> Place? {
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
    let place = Place(vehicle: vehicle, kind: address.kind)
    // Topics of known kinds are as many as vehicles; others could be without end.
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

/// What was counted of one vehicle.
struct VehicleStatistics: Sendable {
  let key: VehicleKey
  /// Live messages: what the broker had kept is counted apart.
  var messages = 0
  var bytes = 0
  var retained = 0
  var unreadable = 0
  var duplicates = 0
  var late = 0
  /// Stores that it had: each has a sequence of its own.
  var epochs = 0
  /// Seconds from the vehicle's clock to ours.
  var delaySum = 0.0
  var delayCount = 0
  var longestDelay = 0.0
  /// Missing numbers of former epochs: they will not come any more.
  private var lost: UInt64 = 0
  private var epoch: UInt64?
  private var formerEpoch: UInt64?
  private var sequence: SequenceGaps?

  init(key: VehicleKey) { self.key = key }

  /// Numbers that have not come.
  var missing: Int { Int(clamping: lost &+ (sequence?.missing ?? 0)) }

  var meanDelay: Double? { delayCount > 0 ? delaySum / Double(delayCount) : nil }

  mutating func add(epoch new: UInt64, seq: UInt64) {
    if new != epoch {
      // A copy of before the change says nothing about what is missing now.
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

/// Delays counted in steps of a twentieth, from a millisecond to a day: as many messages as there are cost the same,
/// and a quantile is right to 2.5 %.
struct DelayHistogram: Hashable, Sendable {
  private static let shortest = 0.001
  private static let ratio = 1.05
  private static let logarithm = log(ratio)
  private static let steps = 376

  private var counts = [Int](repeating: 0, count: steps)
  private(set) var count = 0
  private(set) var longest = 0.0

  /// - Parameter seconds: a delay; a negative one, of a clock that runs ahead, counts as none.
  mutating func add(_ seconds: Double) {
    guard seconds.isFinite else { return }
    let place = seconds <= Self.shortest ? 0 : Int(log(seconds / Self.shortest) / Self.logarithm) + 1
    counts[min(max(place, 0), Self.steps - 1)] += 1
    count += 1
    longest = max(longest, seconds)
  }

  /// The delay in seconds that a share of the messages (0...1) stayed below; nil when there were none.
  func quantile(_ share: Double) -> Double? {
    guard count > 0 else { return nil }
    let wanted = Int((Double(count - 1) * max(0, min(1, share))).rounded())
    var sum = 0
    for (place, number) in counts.enumerated() {
      sum += number
      guard sum > wanted else { continue }
      // The middle of the step; the longest of all is known exactly.
      let middle = place == 0 ? Self.shortest / 2 : Self.shortest * pow(Self.ratio, Double(place) - 0.5)
      return min(middle, longest)
    }
    return longest
  }
}

extension StreamStatistics {
  /// All counts as one JSON object. Delays are in seconds; what is not known is left out.
  /// - Parameter seconds: for which was counted.
  func json(seconds: Double) -> [UInt8] {
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
