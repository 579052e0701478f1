internal import DequeModule
internal import JSON
internal import Spatial
internal import Telemetry

/// The vehicles of a fleet with their last messages.
///
/// A value type without I/O: messages are applied in the order and with the time of their arrival. An older
/// message never replaces a newer one, no input traps, and `capacity` limits the memory. If the capacity is
/// reached, a new vehicle with a valid message replaces the oldest vehicle without a status or position. If
/// there is no such vehicle, the message of the new one is refused.
public struct Roster: Sendable {
  /// The result of applying a message.
  public enum Outcome: Hashable, Sendable {
    /// A message that changed the state.
    case applied
    /// A duplicate of an applied message.
    case duplicate
    /// A message that is older than the state, or the will of a session that a later session has replaced.
    case outdated
    /// A payload that is invalid for its topic; with the problem.
    case malformed(String)
    /// A topic that belongs to no vehicle, or a kind of message that is not stored.
    case ignored
    /// A message of a new vehicle, although the capacity is reached.
    case refused
    /// The last retained message of a vehicle was cleared, so the vehicle was removed.
    case removed
  }

  /// The number of messages by outcome, and the total number of messages and bytes.
  public struct Counters: Hashable, Sendable {
    public var messages = 0
    public var bytes = 0
    public var duplicates = 0
    public var outdated = 0
    public var malformed = 0
    public var ignored = 0
    public var refused = 0

    public init() {}
  }

  public let root: String
  /// The wire format of the vehicles.
  public let profile: MessageProfile
  /// The maximum number of vehicles. It limits the memory that a publisher can use up with invented topics.
  public let capacity: Int
  /// The default capacity. In a server, a vehicle needs up to 4 kB.
  public static let usualCapacity = 20_000
  /// The vehicles in order of their first message. When a vehicle is removed, the last one takes its index.
  public internal(set) var vehicles: [VehicleRecord] = []
  public internal(set) var counters = Counters()
  /// Delays of the last live messages in s, from the time by the vehicle's clock to the arrival. Messages of
  /// vehicles whose clock is known to be wrong are excluded.
  public internal(set) var delays = DelayWindow()
  /// A number that increases with each change of any vehicle.
  public internal(set) var revision: UInt64 = 0
  /// The number of removed vehicles since the start.
  public private(set) var removals: UInt64 = 0
  private var places: [VehicleKey: Int] = [:]
  /// Vehicles that can be replaced when the capacity is reached, oldest first. The list can contain vehicles
  /// that have a status or position by now; a search skips and removes them.
  private var replaceable: Deque<VehicleKey> = []

  /// Creates an empty roster.
  ///
  /// - Parameters:
  ///   - root: the topic root; nil for the default of the profile.
  ///   - profile: the wire format of the vehicles.
  ///   - capacity: the maximum number of vehicles.
  public init(root: String? = nil, profile: MessageProfile = .native, capacity: Int = Roster.usualCapacity) {
    self.root = root ?? profile.usualRoot
    self.profile = profile
    self.capacity = capacity
  }

  public subscript(key: VehicleKey) -> VehicleRecord? { places[key].map { vehicles[$0] } }

  /// Returns the vehicle to which a topic belongs; nil if it belongs to none.
  package func key(of topic: String) -> VehicleKey? { profile.address(of: topic, root: root)?.key }

  /// Returns the number of vehicles in a state.
  public func count(of state: VehicleState) -> Int {
    vehicles.reduce(0) { $0 + ($1.state == state ? 1 : 0) }
  }

  /// Applies a message.
  /// - Parameters:
  ///   - topic: the MQTT topic.
  ///   - payload: the payload; an empty one clears a retained message.
  ///   - retained: true if the broker sent the message as a retained one, published before the subscription.
  ///   - moment: the time of arrival.
  @discardableResult
  public mutating func apply(topic: String, payload: [UInt8], retained: Bool, at moment: Moment) -> Outcome {
    applyDecoding(topic: topic, payload: payload, retained: retained, at: moment).outcome
  }

  /// Applies a message, and also returns its vehicle and its decoded content, so that observers need not parse
  /// it again. Both are nil for a message that was not decoded.
  package mutating func applyDecoding(
    topic: String, payload: [UInt8], retained: Bool, at moment: Moment
  ) -> (outcome: Outcome, vehicle: VehicleKey?, content: FleetMessage?) {
    counters.messages += 1
    counters.bytes += topic.utf8.count + payload.count
    var vehicle: VehicleKey?
    var content: FleetMessage?
    let outcome = place(
      topic: topic, payload: payload, retained: retained, at: moment, of: &vehicle, content: &content)
    switch outcome {
    case .applied, .removed: break
    case .duplicate: counters.duplicates += 1
    case .outdated: counters.outdated += 1
    case .malformed: counters.malformed += 1
    case .ignored: counters.ignored += 1
    case .refused: counters.refused += 1
    }
    return (outcome, vehicle, content)
  }

  /// Interrupts the counting of sequence numbers for all vehicles. Must be called after a time without a
  /// subscription: messages of that time did not arrive, but are not lost. Messages that were missing before
  /// still count as missing.
  public mutating func restartSequences() {
    for index in vehicles.indices { vehicles[index].restartSequence() }
  }

  private mutating func place(
    topic: String, payload: [UInt8], retained: Bool, at moment: Moment, of vehicle: inout VehicleKey?,
    content decoded: inout FleetMessage?
  ) -> Outcome {
    guard let address = profile.address(of: topic, root: root) else { return .ignored }
    guard profile.reads(address.path) else { return .ignored }
    let key = address.key
    vehicle = key
    guard !payload.isEmpty else { return takeBack(address.path, of: key, at: moment) }
    // If the capacity is reached, messages of invented vehicles are rejected here, without parsing them.
    guard vehicles.count < capacity || places[key] != nil || !replaceable.isEmpty else { return .refused }
    var identity: MessageIdentity?
    do throws(JSONError) {
      let json = try JSONValue(parsing: payload)
      identity = json.identity
      guard let message = try profile.read(address, json) else { return .ignored }
      decoded = message
      // A message that is not displayed does not create a vehicle.
      if case .counted = message, places[key] == nil { return .ignored }
      guard let place = place(of: key) ?? placeOfReplaced(by: key) else { return .refused }
      vehicles[place].messageCount += 1
      if !retained, let identity = message.identity { vehicles[place].count(identity, at: moment) }
      guard case .message(let content) = message, let kind = content.kind else {
        let outcome = vehicles[place].apply(aside: message)
        if outcome == .applied {
          revision += 1
          vehicles[place].revision = revision
        }
        return outcome
      }
      let arrival = Arrival(kind: kind, isRetained: retained, moment: moment)
      let outcome = vehicles[place].apply(content, arrival)
      if outcome == .applied {
        if profile.locationShowsPresence, case .location = content {
          vehicles[place].observePresence(arrival)
        }
        revision += 1
        vehicles[place].revision = revision
        vehicles[place].deletions[kind] = nil
        if case .status = content { vehicles[place].statusPayload = payload }
        if !retained, !vehicles[place].isClockWrong, let delay = content.delay(at: moment) {
          delays.add(delay)
        }
      }
      return outcome
    } catch {
      // An invalid message also creates the vehicle, so that the operator sees the problem.
      guard let place = place(of: key) else { return .refused }
      vehicles[place].unreadable += 1
      // An unreadable message has arrived, so it is not missing.
      if !retained, let identity { vehicles[place].count(identity, at: moment) }
      revision += 1
      vehicles[place].revision = revision
      return .malformed(error.description)
    }
  }

  /// Handles an empty payload, which deletes a retained message. An agent deletes its position after a change of
  /// its privacy settings; `odograph forget` deletes the status, too, and removes the vehicle.
  private mutating func takeBack(_ path: String, of key: VehicleKey, at moment: Moment) -> Outcome {
    guard let place = places[key], let kind = MessageKind(rawValue: path),
      kind == .status || kind == .location
    else { return .ignored }
    let hadLocation = vehicles[place].location != nil
    if vehicles[place].delete(kind, with: profile, at: moment) {
      remove(at: place)
      return .removed
    }
    guard hadLocation, kind == .location else { return .ignored }
    revision += 1
    vehicles[place].revision = revision
    return .applied
  }

  private mutating func remove(at place: Int) {
    let key = vehicles[place].key
    let last = vehicles.count - 1
    vehicles.swapAt(place, last)
    vehicles.removeLast()
    places[key] = nil
    if place < last { places[vehicles[place].key] = place }
    removals += 1
    revision += 1
  }

  private mutating func place(of key: VehicleKey) -> Int? {
    if let place = places[key] { return place }
    guard vehicles.count < capacity else { return nil }
    places[key] = vehicles.count
    vehicles.append(VehicleRecord(key: key))
    replaceable.append(key)
    return vehicles.count - 1
  }

  /// Replaces the oldest vehicle without a status or position by a new vehicle.
  /// - Returns: the index of the new vehicle; nil if no vehicle can be replaced.
  private mutating func placeOfReplaced(by key: VehicleKey) -> Int? {
    while let oldest = replaceable.popFirst() {
      guard let place = places[oldest], vehicles[place].status == nil, vehicles[place].location == nil else {
        continue
      }
      remove(at: place)
      return self.place(of: key)
    }
    return nil
  }
}

/// The kind of a message, whether it was retained, and the time of its arrival.
struct Arrival: Hashable, Sendable {
  var kind: MessageKind
  var isRetained: Bool
  var moment: Moment
}

/// The delays of the last messages, from which a median and other quantiles are computed.
public struct DelayWindow: Hashable, Sendable {
  private var seconds: [Double] = []
  private var next = 0
  private let length: Int

  /// Creates an empty window.
  ///
  /// - Parameter length: the number of messages in the window.
  public init(length: Int = 512) { self.length = max(1, length) }

  package mutating func add(_ delay: Double) {
    if seconds.count < length {
      seconds.append(delay)
    } else {
      seconds[next] = delay
    }
    next = (next + 1) % length
  }

  /// Returns a quantile of the delays in s; nil without messages.
  /// - Parameter share: the share of messages with at most this delay, 0...1.
  public func quantile(_ share: Double) -> Double? {
    guard !seconds.isEmpty else { return nil }
    let sorted = seconds.sorted()
    let place = Int((Double(sorted.count - 1) * max(0, min(1, share))).rounded())
    return sorted[place]
  }
}
