internal import Platform
public import Spatial

/// A local time by two clocks: civil time, to compare with vehicles' times, and monotonic time, to measure
/// ages.
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
      time: .now,
      timestamp: .now)
  }
}

/// The last message of a kind, with the time of its arrival.
public struct Received<Message: Hashable & Sendable>: Hashable, Sendable {
  public var message: Message
  public var receivedAt: Moment
  /// True if the broker sent the message as a retained one, published before the subscription. It can be
  /// arbitrarily old.
  public var isRetained: Bool

  /// Returns the age of the message in s, never negative. The age of a live message is measured from its
  /// arrival. That of a retained one is determined by the vehicle's clock, which may be wrong.
  /// - Parameters:
  ///   - now: the current time.
  ///   - time: the time of the message by the vehicle's clock.
  package func age(at now: Moment, time: UTCTime) -> Double {
    max(0, isRetained ? now.time.seconds(since: time) : now.seconds(since: receivedAt))
  }
}

/// An event of a vehicle.
public struct VehicleEvent: Hashable, Sendable {
  /// A short description, such as "enter depot" or "lost". Untrusted text, not yet escaped for a terminal.
  public var summary: String
  /// The time of the event by the vehicle's clock; nil if the vehicle did not report it.
  public var time: UTCTime?
  /// The remedy for a failure; nil if there is none. Untrusted text, like the summary.
  package var remedy: String?
  /// The region that the event concerns; nil for events that concern no region.
  package var region: String?
  /// True if the vehicle is in the region after the event; nil if the event does not concern a region.
  var entersRegion: Bool?
}
