package import Spatial
package import Telemetry

/// What places a message in the order of its topic.
package struct MessageStamp: Hashable, Sendable {
  package var identity: MessageIdentity?
  /// The vehicle's time of the message.
  package var time: UTCTime
  /// Kept by the broker from before the subscription.
  package var isRetained: Bool
  /// When it arrived here.
  package var receivedAt: Moment

  /// Seconds that a vehicle's clock may be ahead of this one's before its time is no evidence of order: receivers
  /// have been seen to be years ahead after a week rollover.
  package static let clockTolerance = 300.0

  var isTimeCredible: Bool { time.seconds(since: receivedAt.time) <= Self.clockTolerance }
}

/// Whether a message says something newer than the one before it.
///
/// A message comes twice when a broker or a vehicle did not see an acknowledgement, late when it waited in a queue,
/// and out of the past when the broker kept it. Numbers decide where both messages have them; a new epoch is a new
/// store and so a later one; the vehicle's time decides the rest, as far as it can be believed.
enum MessageOrder: Hashable, Sendable {
  case newer
  case duplicate
  case older

  /// - Parameter formerEpochs: epochs of this vehicle that a later one has taken the place of.
  init(of message: MessageStamp, after last: MessageStamp?, formerEpochs: [String] = []) {
    guard let last else {
      self = .newer
      return
    }
    if let new = message.identity, let old = last.identity {
      if new.epoch == old.epoch {
        self = new.seq == old.seq ? .duplicate : (new.seq > old.seq ? .newer : .older)
        return
      }
      if formerEpochs.contains(new.epoch) {
        self = .older
        return
      }
      // A live message of an epoch never seen: the store was made anew, whatever its clock says.
      if !message.isRetained {
        self = .newer
        return
      }
    }
    if message.isTimeCredible, last.isTimeCredible {
      if message.time == last.time {
        self = message.isRetained || message.identity == last.identity ? .duplicate : .newer
      } else {
        self = message.time > last.time ? .newer : .older
      }
      return
    }
    // Without numbers and without a clock the order of arrival is left; what the broker kept never replaces
    // what came live.
    self = message.isRetained && !last.isRetained ? .older : .newer
  }
}

/// The newest stamp of each kind.
struct MessageStamps: Hashable, Sendable {
  private var status: MessageStamp?
  private var location: MessageStamp?
  private var heading: MessageStamp?
  private var attitude: MessageStamp?
  private var altitude: MessageStamp?
  private var motion: MessageStamp?
  private var region: MessageStamp?
  private var track: MessageStamp?
  private var locationEvent: MessageStamp?
  private var vehicle: MessageStamp?
  private var scan: MessageStamp?
  private var trip: MessageStamp?
  private var drivingEvent: MessageStamp?
  private var trace: MessageStamp?

  // Not a dictionary: this is looked up for every message.
  subscript(kind: MessageKind) -> MessageStamp? {
    get {
      switch kind {
      case .status: status
      case .location: location
      case .track: track
      case .heading: heading
      case .attitude: attitude
      case .altitude: altitude
      case .motion: motion
      case .region: region
      case .locationEvent: locationEvent
      case .vehicle: vehicle
      case .scan: scan
      case .trip: trip
      case .drivingEvent: drivingEvent
      case .trace: trace
      }
    }
    set {
      switch kind {
      case .status: status = newValue
      case .location: location = newValue
      case .track: track = newValue
      case .heading: heading = newValue
      case .attitude: attitude = newValue
      case .altitude: altitude = newValue
      case .motion: motion = newValue
      case .region: region = newValue
      case .locationEvent: locationEvent = newValue
      case .vehicle: vehicle = newValue
      case .scan: scan = newValue
      case .trip: trip = newValue
      case .drivingEvent: drivingEvent = newValue
      case .trace: trace = newValue
      }
    }
  }
}
