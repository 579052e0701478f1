internal import Sensors
internal import Spatial

/// Decides which receivers of a gpsd are told where they are about, and when. Pure: all time comes in.
///
/// Only receivers whose protocol has a message for it, only while they have no fix, and with nothing that is old.
struct ReceiverAssistance: Sendable {
  /// Seconds for which an aid is worth telling, and between two of them: a receiver may begin its search anew with each.
  private static let (freshness, interval) = (60.0, 600.0)

  private struct Receiver {
    /// Nil until it has reported.
    var hasFix: Bool?
    var told: Timestamp?
  }

  /// By path, those that are open and understand it.
  private var receivers: [String: Receiver] = [:]
  private var aid: PositionAid?
  /// The only one to be told; nil for all.
  private let device: String?

  init(device: String?) { self.device = device }

  mutating func update(_ aid: PositionAid) {
    guard aid.coordinate.isValid, aid.horizontalAccuracy > 0 else { return }
    self.aid = aid
  }

  /// A receiver was opened, recognised or closed.
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

  /// The connection has gone, and with it what was known.
  mutating func reset() { receivers = [:] }

  /// What is to be sent now: the receiver's path and the bytes for it.
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
