internal import Platform

/// How a session is to end.
struct StopRequest {
  var final: [MQTTMessage]
  var drain: Double
}

/// What other threads ask of the session's thread, and what they read of its state.
final class Mailbox: Sendable {
  /// Requests since the thread last looked.
  struct Requests {
    var providerHasMore = false
    /// The same, but no reason to open a link.
    var providerMayHaveMore = false
    var subscriptionChanges: [SubscriptionLedger.Request] = []
    var linkPolicy: MQTTLinkPolicy?
    var keepAlive: Int?
    var renew = false
    var settled: UInt64?
    /// Other settings, and what to say to the broker that is left.
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
    /// Whether the thread was signalled and has not looked yet: spares a system call per message.
    var signalled = false
  }

  /// How many `publishNow` messages wait at most; the oldest makes room.
  private static let immediateCapacity = 256

  /// Wakes the session's thread.
  let wake: EventDescriptor
  /// Set for good when the thread has ended.
  let finished: EventDescriptor
  private let contents = Locked(Contents())

  init() throws(MQTTError) {
    do {
      wake = try EventDescriptor()
      finished = try EventDescriptor()
    } catch {
      throw MQTTError(operation: "create", object: "session", cause: error.description)
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

  /// Takes everything but the stop request, which stays for every later look.
  func drain() -> (requests: Requests, immediate: [MQTTMessage]) {
    contents.withLock { contents in
      let requests = contents.requests
      contents.requests = Requests(stop: requests.stop)
      contents.signalled = false
      return (requests, requests.immediate)
    }
  }

  /// Whether `stop` was called.
  var stopRequested: Bool { contents.withLock { $0.requests.stop != nil } }

  /// Says whether `publishNow` is of use; what still waited when it is not is dropped and counted.
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

  /// True for the first caller: a thread is joined once.
  func claimJoin() -> Bool {
    contents.withLock { contents in
      defer { contents.joined = true }
      return !contents.joined
    }
  }
}
