internal import Platform
public import Spatial

/// When something happened at this end: by the calendar, to compare with what vehicles say, and on this machine's own
/// time line, which never steps and so measures ages.
public struct Moment: Hashable, Sendable {
  public var time: UTCTime
  public var timestamp: Timestamp

  public init(time: UTCTime, timestamp: Timestamp) {
    self.time = time
    self.timestamp = timestamp
  }

  /// Seconds from `earlier` to this.
  package func seconds(since earlier: Moment) -> Double { timestamp.seconds(since: earlier.timestamp) }
}

extension Moment {
  /// Now, by this machine's clocks.
  package static var now: Moment {
    Moment(
      time: UTCTime(nanoseconds: SystemClock.realtime),
      timestamp: Timestamp(nanoseconds: SystemClock.boottime))
  }
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
