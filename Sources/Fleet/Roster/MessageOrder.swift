package import Spatial
package import Telemetry

/// The position of a message in the order of its topic.
package struct MessageStamp: Hashable, Sendable {
  package var identity: MessageIdentity?
  /// The vehicle's time of the message.
  package var time: UTCTime
  /// True if the broker retained the message from before the subscription.
  package var isRetained: Bool
  /// The local time of arrival.
  package var receivedAt: Moment

  /// The time in seconds by which a vehicle's clock may be ahead before it is ignored for the order.
  /// Receivers were observed to be years ahead after a week rollover.
  package static let clockTolerance = 300.0

  var isTimeCredible: Bool { time.seconds(since: receivedAt.time) <= Self.clockTolerance }
}

/// The order of a message relative to the previous one.
///
/// A message arrives twice if a broker or a vehicle missed an acknowledgement, late if it was queued, and out
/// of the past if the broker retained it. The sequence numbers decide if both messages have them. A new epoch
/// is a new store and therefore later. Otherwise the vehicle's time decides if it is credible.
enum MessageOrder: Hashable, Sendable {
  case newer
  case duplicate
  case older

  /// Compares a message with the previous one.
  ///
  /// - Parameter formerEpochs: epochs of this vehicle that were replaced by a later one.
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
      // A live message with an unknown epoch: the store was recreated, regardless of its clock.
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
    // Without numbers and a credible clock, the order of arrival decides; a retained message never replaces a
    // live one.
    self = message.isRetained && !last.isRetained ? .older : .newer
  }
}

/// The newest stamp of each kind.
struct MessageStamps: Sendable {
  private struct Entry: Sendable {
    let kind: MessageKind
    var stamp: MessageStamp
  }

  // An array instead of a dictionary, because it is searched for every message; and instead of one property
  // per kind, because most vehicles send few kinds, and there are many vehicles.
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
