internal import Sensors
internal import Spatial

/// Decides which receivers of a gpsd are sent an approximate position, and when. Pure: the caller provides
/// all times.
///
/// A position is sent only to receivers whose protocol has a message for it, only while they have no fix, and
/// only if the position is recent.
struct ReceiverAssistance: Sendable {
  /// Maximum age in s of an aid, and minimum interval in s between two aids to a receiver, because each aid
  /// may make it restart its search.
  private static let (freshness, interval) = (60.0, 600.0)

  private struct Receiver {
    /// True if the receiver has a fix; nil before its first report.
    var hasFix: Bool?
    var told: Timestamp?
  }

  /// Open receivers with a suitable protocol, by path.
  private var receivers: [String: Receiver] = [:]
  private var aid: PositionAid?
  /// The only receiver to assist; nil for all.
  private let device: String?

  init(device: String?) { self.device = device }

  mutating func update(_ aid: PositionAid) {
    guard aid.coordinate.isValid, aid.horizontalAccuracy > 0 else { return }
    self.aid = aid
  }

  /// Updates a receiver that was opened, recognized or closed.
  mutating func observe(_ receiver: GPSDDevice) {
    guard device == nil || receiver.path == device else { return }
    guard receiver.isActive else {
      receivers[receiver.path] = nil
      return
    }
    guard receiver.driver == UBloxAssistance.driver, receivers[receiver.path] == nil else { return }
    receivers[receiver.path] = Receiver()
  }

  mutating func observe(_ fix: GPSDFix) {
    guard let path = fix.device else { return }
    receivers[path]?.hasFix = fix.mode.map { $0 >= 2 } ?? false
  }

  /// Clears all receivers after the connection was lost.
  mutating func reset() { receivers = [:] }

  /// Returns the messages to send now: the receiver's path and the bytes.
  mutating func requests(at now: Timestamp) -> [(path: String, bytes: [UInt8])] {
    guard let aid, (0...Self.freshness).contains(now.seconds(since: aid.timestamp)) else { return [] }
    var requests: [(path: String, bytes: [UInt8])] = []
    for (path, receiver) in receivers.sorted(by: { $0.key < $1.key }) where receiver.hasFix == false {
      if let told = receiver.told, now.seconds(since: told) < Self.interval { continue }
      receivers[path]?.told = now
      let frames = UBloxAssistance.frames(aid, age: now.seconds(since: aid.timestamp))
      requests += frames.map { (path, $0) }
    }
    return requests
  }
}
