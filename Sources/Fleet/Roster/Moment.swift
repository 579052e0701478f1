internal import Platform
public import Spatial

/// A local time: civil time, for comparison with vehicles' times, and the monotonic time line of this
/// machine, for measuring ages.
public struct Moment: Hashable, Sendable {
  public var time: UTCTime
  public var timestamp: Timestamp

  public init(time: UTCTime, timestamp: Timestamp) {
    self.time = time
    self.timestamp = timestamp
  }

  /// Returns the seconds from `earlier` to this moment.
  package func seconds(since earlier: Moment) -> Double { timestamp.seconds(since: earlier.timestamp) }
}

extension Moment {
  /// The current time of this machine's clocks.
  package static var now: Moment {
    Moment(
      time: UTCTime(nanoseconds: SystemClock.realtime),
      timestamp: Timestamp(nanoseconds: SystemClock.boottime))
  }
}

/// The last message of a kind, with its arrival.
public struct Received<Message: Hashable & Sendable>: Hashable, Sendable {
  public var message: Message
  public var receivedAt: Moment
  /// True if the broker retained it from before the subscription; it can be of any age.
  public var isRetained: Bool

  /// Returns the age in seconds, never negative: since its arrival for a live message, and by the vehicle's
  /// clock, which may be wrong, for a retained one.
  package func age(at now: Moment, time: UTCTime) -> Double {
    max(0, isRetained ? now.time.seconds(since: time) : now.seconds(since: receivedAt))
  }
}

/// An event of a vehicle.
public struct VehicleEvent: Hashable, Sendable {
  /// A short description, such as "enter depot" or "lost". Untrusted text, not yet escaped for a terminal.
  public var summary: String
  /// The vehicle's time of the event; nil if not given.
  public var time: UTCTime?
  /// The region of the event; nil for other events.
  package var region: String?
  /// True if the vehicle is inside afterwards; nil if the event does not determine it.
  var entersRegion: Bool?
}
