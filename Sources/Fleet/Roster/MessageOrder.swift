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
struct MessageStamps: Sendable {
  private struct Entry: Sendable {
    let kind: MessageKind
    var stamp: MessageStamp
  }

  // Not a dictionary: this is looked up for every message. Not a member for each kind either: most vehicles send a few of
  // them, and there are many vehicles.
  private var entries: [Entry] = []

  subscript(kind: MessageKind) -> MessageStamp? {
    get { entries.first { $0.kind == kind }?.stamp }
    set {
      let place = entries.firstIndex { $0.kind == kind }
      switch (place, newValue) {
      case (let place?, let stamp?): entries[place].stamp = stamp
      case (let place?, nil): entries.remove(at: place)
      case (nil, let stamp?): entries.append(Entry(kind: kind, stamp: stamp))
      case (nil, nil): break
      }
    }
  }
}
