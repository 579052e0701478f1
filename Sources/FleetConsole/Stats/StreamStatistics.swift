internal import Fleet
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
  mutating func note(_ message: MQTTMessage, at moment: Moment) {
    note(topic: message.topic, payload: message.payload, retained: message.retain, at: moment)
  }

  mutating func note(topic: String, payload: [UInt8], retained: Bool, at moment: Moment) {
    let size = topic.utf8.count + payload.count
    messages += 1
    bytes += size
    if retained {
      self.retained += 1
      retainedBytes += size
    }
    guard let place = place(of: topic) else { return }
    note(payload, size: size, retained: retained, at: moment, place)
  }

  private mutating func note(
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
      vehicles[place.vehicle].note(epoch: epoch, seq: UInt64(seq))
    }
    // A will carries the time at which it was left with the broker, and a track that of its first fix.
    guard let time = glance.time, !glance.isWill, kind != .track else { return }
    let delay = moment.time.seconds(since: time)
    guard delay > -MessageStamp.clockTolerance, delay < 86_400 else { return }
    vehicles[place.vehicle].note(delay: delay)
    delays.add(delay)
  }

  private mutating func place(of topic: String) -> Place? {
    if let place = places[topic] { return place }
    guard let address = profile.address(of: topic, root: root) else {
      foreign += 1
      return nil
    }
    let key = VehicleKey(fleet: address.fleet, vehicle: address.vehicle)
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
