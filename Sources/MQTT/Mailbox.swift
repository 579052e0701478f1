internal import Platform

/// A request to stop the session.
struct StopRequest {
  var final: [MQTTMessage]
  var drain: Double
  /// True to end the connection without DISCONNECT, so that the broker publishes the will.
  var leavesWill = false
}

/// Requests of other threads to the session's thread, and the state that they can read.
final class Mailbox: Sendable {
  /// Requests since the last check.
  struct Requests {
    var providerHasMore = false
    /// The provider may have records, which do not justify opening a link.
    var providerMayHaveMore = false
    var subscriptionChanges: [SubscriptionLedger.Request] = []
    var linkPolicy: MQTTLinkPolicy?
    var keepAlive: Int?
    var renew = false
    var settled: UInt64?
    /// New settings, and the last messages to the current broker.
    var configuration: (settings: MQTTConfiguration, final: [MQTTMessage])?
    var stop: StopRequest?
    fileprivate var immediate: [MQTTMessage] = []
  }

  private struct Contents {
    var requests = Requests()
    var statistics = MQTTStatistics()
    var isConnected = false
    var leftCleanly = false
    var joined = false
    /// True if the thread was signalled and has not checked yet. This saves a system call per message.
    var signalled = false
  }

  /// Maximum number of waiting `publishNow` messages; beyond it the oldest is dropped.
  private static let immediateCapacity = 256

  /// Wakes the session's thread.
  let wake: EventDescriptor
  /// Set permanently when the thread has ended.
  let finished: EventDescriptor
  private let contents = Locked(Contents())

  init() throws(OperationError) {
    do {
      wake = try EventDescriptor()
      finished = try EventDescriptor()
    } catch {
      throw OperationError("MQTT", operation: "create", object: "session", cause: error.description)
    }
  }

  func change(_ body: (inout Requests) -> Void) {
    let needsSignal = contents.withLock { contents in
      body(&contents.requests)
      defer { contents.signalled = true }
      return !contents.signalled
    }
    if needsSignal { wake.signal() }
  }

  func publishNow(_ message: MQTTMessage) -> Bool {
    let (accepted, needsSignal) = contents.withLock { contents in
      guard contents.isConnected else {
        contents.statistics.droppedNow += 1
        return (false, false)
      }
      if contents.requests.immediate.count >= Self.immediateCapacity {
        contents.requests.immediate.removeFirst()
        contents.statistics.droppedNow += 1
      }
      contents.requests.immediate.append(message)
      defer { contents.signalled = true }
      return (true, !contents.signalled)
    }
    if needsSignal { wake.signal() }
    return accepted
  }

  /// Removes and returns all requests. A stop request remains for later checks.
  func drain() -> (requests: Requests, immediate: [MQTTMessage]) {
    contents.withLock { contents in
      let requests = contents.requests
      contents.requests = Requests(stop: requests.stop)
      contents.signalled = false
      return (requests, requests.immediate)
    }
  }

  /// True if `stop` was called.
  var stopRequested: Bool { contents.withLock { $0.requests.stop != nil } }

  /// Sets whether `publishNow` can send. When the connection ends, waiting messages are dropped and counted.
  func setConnected(_ isConnected: Bool) {
    contents.withLock { contents in
      contents.isConnected = isConnected
      if isConnected {
        contents.statistics.connections += 1
      } else {
        contents.statistics.droppedNow += contents.requests.immediate.count
        contents.requests.immediate = []
      }
    }
  }

  func count(_ body: (inout MQTTStatistics) -> Void) { contents.withLock { body(&$0.statistics) } }

  var statistics: MQTTStatistics { contents.withLock { $0.statistics } }

  func setLeftCleanly(_ value: Bool) { contents.withLock { $0.leftCleanly = value } }

  var leftCleanly: Bool { contents.withLock { $0.leftCleanly } }

  /// Returns true for the first caller only, because a thread is joined once.
  func claimJoin() -> Bool {
    contents.withLock { contents in
      defer { contents.joined = true }
      return !contents.joined
    }
  }
}
