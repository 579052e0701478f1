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
  func age(at now: Moment, time: UTCTime) -> Double {
    max(0, isRetained ? now.time.seconds(since: time) : now.seconds(since: receivedAt))
  }
}

/// Something that happened to a vehicle.
public struct VehicleEvent: Hashable, Sendable {
  /// What, in a few words, as in "enter depot" or "lost". From the wire: not made harmless for a terminal yet.
  public var summary: String
  /// The vehicle's time of it; nil when not given.
  public var time: UTCTime?
}

/// What is known of one vehicle.
public struct VehicleRecord: Sendable {
  public let key: VehicleKey
  public internal(set) var state: VehicleState = .unknown
  public internal(set) var status: Received<StatusMessage>?
  public internal(set) var location: Received<LocationMessage>?
  public internal(set) var heading: Received<HeadingMessage>?
  public internal(set) var attitude: Received<AttitudeMessage>?
  public internal(set) var event: Received<VehicleEvent>?
  /// When the vehicle itself was last heard: a kept message or a will is no sign of life. Nil when it was not heard
  /// since the subscription.
  public internal(set) var lastHeard: Moment?
  /// Messages below the vehicle's topic, of any kind.
  public internal(set) var messageCount = 0
  /// Rises with each change, across all vehicles: what changed since a number is what is above it.
  public internal(set) var revision: UInt64 = 0

  /// How the vehicle's position goes on, for one that reports within bounds.
  var prediction: VehiclePrediction?
  // The order of each kind is kept apart from what is shown: a will replaces the state, not the order.
  var stamps = MessageStamps()
  /// The newest epoch, and those that it took the place of, newest last.
  var epoch: String?
  var formerEpochs: [String] = []
  /// Start of the newest session that a status spoke of.
  var sessionStart: UTCTime?

  /// Columns that the names take on a terminal, measured once.
  let nameWidths: (fleet: Int, vehicle: Int)

  init(key: VehicleKey) {
    self.key = key
    nameWidths = (StyledText(key.fleet).width, StyledText(key.vehicle).width)
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
