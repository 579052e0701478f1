package import Spatial
package import Telemetry

/// The properties of a message that determine its order among messages of the same kind.
package struct MessageStamp: Hashable, Sendable {
  package var identity: MessageIdentity?
  /// The time of the message by the vehicle's clock.
  package var time: UTCTime
  /// True if the broker sent the message as a retained one, published before the subscription.
  package var isRetained: Bool
  /// The time of arrival by the local clock.
  package var receivedAt: Moment

  /// The time in s by which a vehicle's clock may be ahead of the local clock. Messages further ahead are not
  /// ordered by their time. GNSS receivers were observed to be years ahead after a week rollover.
  package static let clockTolerance = 300.0

  var isTimeCredible: Bool { time.seconds(since: receivedAt.time) <= Self.clockTolerance }
}

/// The order of a message relative to the last message of the same kind.
///
/// A message can arrive twice if an acknowledgement was lost, late if it was queued, and long after its
/// publication if the broker retained it. If both messages have sequence numbers, these determine the order.
/// A new epoch means a new store in the vehicle, and is therefore later. A former epoch returns with a message that
/// was created after the last one had arrived. Otherwise the vehicle's time determines the order, if it is credible.
enum MessageOrder: Hashable, Sendable {
  case newer
  case duplicate
  case older

  /// Compares a message with the last message of the same kind.
  ///
  /// - Parameter formerEpochs: earlier epochs of the vehicle, each of which was replaced by a later one.
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
        // A message from a store that was replaced is late, unless it was created after the newest one of the
        // other store had arrived: a unit was exchanged and came back, or a backup of the store was restored.
        let isBack =
          !message.isRetained && message.isTimeCredible && message.time > last.receivedAt.time
        self = isBack ? .newer : .older
        return
      }
      // A live message with a new epoch is newer, even if its time is earlier: the vehicle has created a new
      // store.
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
    // Without sequence numbers and credible times, the order of arrival decides. A retained message never
    // replaces a live one.
    self = message.isRetained && !last.isRetained ? .older : .newer
  }
}

/// The stamp of the newest message of each kind.
struct MessageStamps: Sendable {
  private struct Entry: Sendable {
    let kind: MessageKind
    var stamp: MessageStamp
  }

  // An array is faster to search than a dictionary, which matters for every message. It is smaller than a
  // property for each kind, because most vehicles send few kinds.
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
