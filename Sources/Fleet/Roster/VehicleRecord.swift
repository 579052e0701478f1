public import Spatial
public import Telemetry

/// Names one vehicle of all that a broker knows.
public struct VehicleKey: Hashable, Sendable, Comparable, CustomStringConvertible {
  public var fleet: String
  public var vehicle: String

  public init(fleet: String, vehicle: String) {
    self.fleet = fleet
    self.vehicle = vehicle
  }

  public var description: String { "\(fleet)/\(vehicle)" }

  public static func < (a: VehicleKey, b: VehicleKey) -> Bool {
    a.fleet == b.fleet ? a.vehicle < b.vehicle : a.fleet < b.fleet
  }
}

/// Whether a vehicle is there, as far as its status says.
public enum VehicleState: String, Hashable, Sendable, CaseIterable, Comparable {
  case online
  case asleep
  case offline
  /// It never sent a status that could be read.
  case unknown

  public static func < (a: Self, b: Self) -> Bool { a.order < b.order }

  private var order: Int { Self.allCases.firstIndex(of: self) ?? 0 }
}

/// The last message of a kind, and how it came.
public struct Received<Message: Hashable & Sendable>: Hashable, Sendable {
  public var message: Message
  public var receivedAt: Moment
  /// The broker had kept it from before the subscription: it may be of any age.
  public var isRetained: Bool

  /// Seconds since the message was true: since its arrival when it came live; by the vehicle's clock, which may be
  /// wrong, when it had been kept. Never negative.
  package func age(at now: Moment, time: UTCTime) -> Double {
    max(0, isRetained ? now.time.seconds(since: time) : now.seconds(since: receivedAt))
  }
}

/// Something that happened to a vehicle.
public struct VehicleEvent: Hashable, Sendable {
  /// What, in a few words, as in "enter depot" or "lost". From the wire: not made harmless for a terminal yet.
  public var summary: String
  /// The vehicle's time of it; nil when not given.
  public var time: UTCTime?
  /// The region that it is about; nil for another event.
  package var region: String?
  /// Whether the vehicle is inside afterwards; nil for an event that says nothing of it.
  var entersRegion: Bool?
}

/// What is known of one vehicle.
public struct VehicleRecord: Sendable {
  public let key: VehicleKey
  public internal(set) var state: VehicleState = .unknown
  public internal(set) var status: Received<StatusMessage>?
  public internal(set) var location: Received<LocationMessage>?
  public internal(set) var heading: Received<HeadingMessage>?
  public internal(set) var attitude: Received<AttitudeMessage>?
  public internal(set) var event: Received<VehicleEvent>? {
    didSet { if let event, event != oldValue { remember(event) } }
  }
  /// The last ones, oldest first, the newest included.
  public private(set) var recentEvents: [Received<VehicleEvent>] = []
  /// Numbers of the vehicle's sequence that have not come since the subscription: lost, or still under way.
  public var missing: Int { Int(clamping: lost &+ (sequence?.missing ?? 0)) }
  /// The status as it came, for whoever shows more of it than this version knows.
  package var statusPayload: [UInt8] = []
  /// What the vehicle is to watch, and which of it it has accepted; nil before it has said so.
  var wantedRegions: [RegionShape] = []
  var acceptedRegions: Set<String>?
  /// What the vehicle watches, as far as it has said so.
  package var regions: [RegionShape] {
    wantedRegions.filter { acceptedRegions?.contains($0.identifier) == true }
  }
  /// Regions that it has entered and not left, as far as was heard.
  package var insideRegions: [String] = []
  package var trail = Trail()
  /// When the vehicle itself was last heard: a kept message or a will is no sign of life. Nil when it was not heard
  /// since the subscription.
  public internal(set) var lastHeard: Moment?
  /// Messages below the vehicle's topic, of any kind.
  public internal(set) var messageCount = 0
  /// Messages below the vehicle's topic that are not what their topic promises, kept ones among them.
  public internal(set) var unreadable = 0
  /// Rises with each change, across all vehicles: what changed since a number is what is above it.
  public internal(set) var revision: UInt64 = 0

  private static let rememberedEvents = 12
  private var sequence: SequenceGaps?
  private var sequenceEpoch: String?
  /// Missing numbers of former epochs: they will not come any more.
  private var lost: UInt64 = 0

  /// How the vehicle's position goes on, for one that reports within bounds.
  var prediction: VehiclePrediction?
  // The order of each kind is kept apart from what is shown: a will replaces the state, not the order.
  var stamps = MessageStamps()
  /// The newest epoch, and those that it took the place of, newest last.
  package var epoch: String?
  var formerEpochs: [String] = []
  /// Start of the newest session that a status spoke of.
  package var sessionStart: UTCTime?

  package init(key: VehicleKey) { self.key = key }

  /// Of a vehicle that is asleep: when it means to be heard again, by its own clock. Nil when it did not say, as one that
  /// only an event wakes.
  public var nextContact: UTCTime? { state == .asleep ? status?.message.nextContact : nil }

  /// Whether a vehicle that is asleep should have been heard by now.
  /// - Parameter tolerance: seconds, for a connection that takes its time and clocks that do not agree.
  public func isOverdue(at now: Moment, tolerance: Double = 300) -> Bool {
    nextContact.map { now.time.seconds(since: $0) > tolerance } ?? false
  }

  /// Takes note of the number of a live message.
  package mutating func note(number identity: MessageIdentity) {
    if identity.epoch == sequenceEpoch {
      _ = sequence?.note(identity.seq)
    } else if !formerEpochs.contains(identity.epoch) {
      lost &+= sequence?.missing ?? 0
      sequenceEpoch = identity.epoch
      sequence = SequenceGaps(startingWith: identity.seq)
    }
  }

  private mutating func remember(_ event: Received<VehicleEvent>) {
    if recentEvents.count >= Self.rememberedEvents { recentEvents.removeFirst() }
    recentEvents.append(event)
  }

  /// Whether the position is only the last known: the broker had kept it, or the vehicle is gone. It may be a ghost
  /// and is never to be shown as live.
  public var isLocationStale: Bool {
    guard let location else { return false }
    return location.isRetained || state == .offline
  }

  /// Seconds since the vehicle was heard; where it was not heard since the subscription, since the newest message
  /// that the broker had kept was written. Nil when there is neither.
  public func age(at now: Moment) -> Double? {
    if let lastHeard { return max(0, now.seconds(since: lastHeard)) }
    let written = [status?.message.time, location?.message.time].compactMap { $0 }.max()
    return written.map { max(0, now.time.seconds(since: $0)) }
  }
}
