internal import JSON
internal import Spatial
internal import Telemetry

/// Who is in a fleet and what each vehicle last said.
///
/// A value without any I/O: messages go in with the moment of their arrival, in the order of their arrival, and what
/// is known comes out. Whatever the messages say, an older one never takes the place of a newer one, nothing traps,
/// and memory is bounded by `capacity`.
public struct Roster: Sendable {
  /// What became of a message.
  public enum Outcome: Hashable, Sendable {
    /// It changed what is known.
    case applied
    /// It had been seen before.
    case duplicate
    /// It is older than what is known, or the will of a session that has ended since.
    case outdated
    /// Its payload is not what its topic promises.
    case malformed(String)
    /// Its topic is not a vehicle's, or of a kind that is not kept here.
    case ignored
    /// It is of a vehicle more than there is room for.
    case refused
    /// The broker keeps nothing of the vehicle any more: it has been taken out.
    case removed
  }

  /// How often each outcome came about.
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
  /// In which words the vehicles speak.
  public let profile: MessageProfile
  /// Vehicles at most; a broker with a million made-up topics does not take all memory.
  public let capacity: Int
  /// In the order in which they were first heard of; the last one takes the place of one that is taken out.
  public internal(set) var vehicles: [VehicleRecord] = []
  public internal(set) var counters = Counters()
  /// Seconds that the last live messages took from the vehicle's clock to here.
  public internal(set) var delays = DelayWindow()
  /// Rises with each change.
  public internal(set) var revision: UInt64 = 0
  /// Vehicles that were taken out since the start.
  public private(set) var removals: UInt64 = 0
  private var places: [VehicleKey: Int] = [:]

  /// - Parameter root: nil for the profile's usual one.
  public init(root: String? = nil, profile: MessageProfile = .native, capacity: Int = 100_000) {
    self.root = root ?? profile.usualRoot
    self.profile = profile
    self.capacity = capacity
  }

  public subscript(key: VehicleKey) -> VehicleRecord? { places[key].map { vehicles[$0] } }

  /// The vehicle whose topic it is; nil for another topic.
  package func key(of topic: String) -> VehicleKey? { profile.address(of: topic, root: root)?.key }

  /// How many vehicles are in a state.
  public func count(of state: VehicleState) -> Int {
    vehicles.reduce(0) { $0 + ($1.state == state ? 1 : 0) }
  }

  /// Takes in one message.
  /// - Parameters:
  ///   - retained: the broker had kept it from before the subscription.
  ///   - moment: when it arrived.
  @discardableResult
  public mutating func apply(topic: String, payload: [UInt8], retained: Bool, at moment: Moment) -> Outcome {
    counters.messages += 1
    counters.bytes += topic.utf8.count + payload.count
    let outcome = place(topic: topic, payload: payload, retained: retained, at: moment)
    switch outcome {
    case .applied, .removed: break
    case .duplicate: counters.duplicates += 1
    case .outdated: counters.outdated += 1
    case .malformed: counters.malformed += 1
    case .ignored: counters.ignored += 1
    case .refused: counters.refused += 1
    }
    return outcome
  }

  /// Starts all sequences anew. Call it after a time without a subscription: messages of that time were published, but not
  /// to this subscriber.
  public mutating func restartSequences() {
    for index in vehicles.indices { vehicles[index].restartSequence() }
  }

  private mutating func place(
    topic: String, payload: [UInt8], retained: Bool, at moment: Moment
  ) -> Outcome {
    guard let address = profile.address(of: topic, root: root) else { return .ignored }
    guard profile.reads(address.path) else { return .ignored }
    let key = address.key
    guard !payload.isEmpty else { return takeBack(address.path, of: key) }
    // Made-up vehicles beyond the capacity cost no more than this look.
    guard vehicles.count < capacity || places[key] != nil else { return .refused }
    do throws(JSONError) {
      guard let message = try profile.read(address, JSONValue(parsing: payload)) else { return .ignored }
      // A piece of history shows nothing of a vehicle, so it makes none.
      if case .history = message, places[key] == nil { return .ignored }
      guard let place = place(of: key) else { return .refused }
      vehicles[place].messageCount += 1
      if !retained, let identity = message.identity { vehicles[place].count(identity, at: moment) }
      guard case .message(let said) = message, let kind = said.kind else {
        guard vehicles[place].apply(aside: message) else { return .ignored }
        revision += 1
        vehicles[place].revision = revision
        return .applied
      }
      let arrival = Arrival(kind: kind, isRetained: retained, moment: moment)
      let outcome = vehicles[place].apply(said, arrival)
      if outcome == .applied {
        if profile.locationShowsPresence, case .location = said { vehicles[place].observePresence(arrival) }
        revision += 1
        vehicles[place].revision = revision
        vehicles[place].takenBack.remove(kind)
        if case .status = said { vehicles[place].statusPayload = payload }
        if !retained, let delay = said.delay(at: moment) { delays.add(delay) }
      }
      return outcome
    } catch {
      // Somebody speaks for a vehicle: it is shown, with what is wrong.
      guard let place = place(of: key) else { return .refused }
      vehicles[place].unreadable += 1
      revision += 1
      vehicles[place].revision = revision
      return .malformed(error.description)
    }
  }

  /// An empty payload takes back what the broker keeps. What came live stays true, until nothing is kept of how the vehicle stands:
  /// somebody has retired it then.
  private mutating func takeBack(_ path: String, of key: VehicleKey) -> Outcome {
    guard let place = places[key], let kind = MessageKind(rawValue: path),
      kind == .status || kind == .location
    else { return .ignored }
    vehicles[place].takenBack.insert(kind)
    // The will of OwnTracks is on the topic of locations.
    if profile == .ownTracks, kind == .location { vehicles[place].takenBack.insert(.status) }
    guard vehicles[place].isTakenBack else { return .ignored }
    let last = vehicles.count - 1
    vehicles.swapAt(place, last)
    vehicles.removeLast()
    places[key] = nil
    if place < last { places[vehicles[place].key] = place }
    removals += 1
    revision += 1
    return .removed
  }

  private mutating func place(of key: VehicleKey) -> Int? {
    if let place = places[key] { return place }
    guard vehicles.count < capacity else { return nil }
    places[key] = vehicles.count
    vehicles.append(VehicleRecord(key: key))
    return vehicles.count - 1
  }
}

/// How a message came.
struct Arrival: Hashable, Sendable {
  var kind: MessageKind
  var isRetained: Bool
  var moment: Moment
}

/// The delays of the last messages, for a median and a tail that follow what happens now.
public struct DelayWindow: Hashable, Sendable {
  private var seconds: [Double] = []
  private var next = 0
  private let length: Int

  /// - Parameter length: how many messages are looked back on.
  public init(length: Int = 512) { self.length = max(1, length) }

  package mutating func add(_ delay: Double) {
    if seconds.count < length {
      seconds.append(delay)
    } else {
      seconds[next] = delay
    }
    next = (next + 1) % length
  }

  /// The delay in seconds that a share of the messages (0...1) stayed below; nil when there were none.
  public func quantile(_ share: Double) -> Double? {
    guard !seconds.isEmpty else { return nil }
    let sorted = seconds.sorted()
    let place = Int((Double(sorted.count - 1) * max(0, min(1, share))).rounded())
    return sorted[place]
  }
}
