internal import Glibc
internal import Logging
internal import Platform
internal import Telemetry

/// Sends region events to sockets of programs on this machine (`regions.notify`), which a service manager can start on a
/// connection.
///
/// Each event is one line with the payload of its `region` message. A socket that refuses is retried with a back-off. Only
/// the newest undelivered event of each region is queued, and not across a restart of the agent.
final class RegionNotifier: Sendable {
  private let thread: ServiceThread
  private let events = BoundedQueue<RegionMessage>(capacity: 256)

  /// - Throws: `SystemError` if the process has no free descriptors or threads.
  init(paths: [String], log: Logger) throws(SystemError) {
    thread = try ServiceThread()
    try thread.start(name: "region events") { [thread, events] heartbeat in
      var receivers = paths.map { Receiver(path: $0) }
      while !thread.isStopping {
        heartbeat.beat()
        while case .element(let event) = events.pop(until: .start) {
          for index in receivers.indices { receivers[index].add(event) }
        }
        for index in receivers.indices { receivers[index].deliver(log) }
        let due = receivers.compactMap(\.retryAt).min()
        _ = thread.wake.wait(seconds: due.map { max(0, $0.secondsRemaining) } ?? 86_400)
      }
    }
  }

  /// Queues an event. Called by the pipeline's thread, never waits.
  func publish(_ event: RegionMessage) {
    events.push(event)
    thread.wake.signal()
  }

  func stop() { thread.stop() }

  /// A program's socket with its undelivered events.
  private struct Receiver {
    let path: String
    /// Undelivered events in order, at most one for each region.
    var events: [RegionMessage] = []
    /// Time of the next attempt; nil without an undelivered event.
    private(set) var retryAt: MonotonicTime?
    private var backoff = Backoff(floor: 0.5, base: 1, limit: 60)
    private var isReported = false

    /// Maximum number of regions with an undelivered event.
    private static let limit = 256

    init(path: String) { self.path = path }

    mutating func add(_ event: RegionMessage) {
      events.removeAll { $0.region == event.region }
      if events.count == Self.limit { events.removeFirst() }
      events.append(event)
      retryAt = retryAt ?? .start
    }

    /// Sends the events, if an attempt is due. A failure is logged once until the next success.
    mutating func deliver(_ log: Logger) {
      guard let due = retryAt, due.hasPassed else { return }
      do throws(SystemError) {
        try send()
        (events, retryAt, isReported) = ([], nil, false)
        backoff.reset()
      } catch {
        retryAt = .after(backoff.next())
        guard !isReported else { return }
        isReported = true
        log.warning(
          .localUnavailable, "region events for another program wait",
          metadata: ["service": "regions.notify \(path)", "reason": "\(error)"])
      }
    }

    private func send() throws(SystemError) {
      let descriptor = try LocalSocket.connect(to: path)
      defer { close(descriptor) }
      var bytes: [UInt8] = []
      for event in events {
        bytes += event.payload
        bytes.append(UInt8(ascii: "\n"))
      }
      // 256 events fit into the kernel's buffer, so that a partial write is a failure.
      let count = Glibc.send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL))
      guard count == bytes.count else {
        throw SystemError(operation: "send to", object: path, code: count < 0 ? errno : EAGAIN)
      }
    }
  }
}
