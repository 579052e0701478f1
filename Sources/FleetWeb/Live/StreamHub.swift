internal import Compression
package import Fleet
internal import JSON
package import NIOCore
internal import Platform

/// A thread that sends changes to all open streams, and creates each event only once.
///
/// A slow client costs nothing: while it has not read its last update, no further one is created, and only
/// its progress is stored. It then continues with the current state. A client that does not read for too long
/// is dropped.
package final class StreamHub: Sendable {
  package struct Limits: Hashable, Sendable {
    /// The maximum number of streams.
    package var clients = 256
    /// The seconds without progress after which a client is dropped.
    package var clientTimeout = 30.0
    /// The seconds without an event after which an empty one is sent.
    package var heartbeat = 10.0

    package init() {}
  }

  /// Counters since the start, and the current number of clients.
  package struct Counters: Hashable, Sendable {
    package var clients = 0
    package var opened = 0
    package var dropped = 0
    package var refused = 0
    package var events = 0
    package var bytes = 0
  }

  private struct State {
    var clients: [String: StreamClient] = [:]
    var counters = Counters()
    /// True if a client waits for an immediate update.
    var hasUrgent = false
    /// The time until which the thread sleeps.
    var wakesAt = MonotonicTime.distantFuture
    /// True if no new streams are accepted.
    var isClosed = false
    var isStopping = false
  }

  package let fleet: LiveFleet
  package let limits: Limits
  private let sources: [any StreamSource]
  private let state = Monitor(State())
  private let thread = Locked<DedicatedThread?>(nil)

  package init(_ fleet: LiveFleet, sources: [any StreamSource] = [], limits: Limits = Limits()) {
    self.fleet = fleet
    self.sources = sources
    self.limits = limits
  }

  /// Starts the thread.
  ///
  /// - Throws: `FleetError` if the kernel cannot create a thread.
  package func start() throws(FleetError) {
    do throws(SystemError) {
      let started = try DedicatedThread.start(name: "streams") { self.run() }
      thread.withLock { $0 = started }
    } catch { throw FleetError(error) }
  }

  /// Ends all streams with a reason, waits up to a second until the clients have read it, and stops the
  /// thread.
  package func stop(reason: String) {
    state.update { $0.isClosed = true }
    end(reason: reason) { _ in true }
    let deadline = MonotonicTime.after(1)
    _ = state.wait(until: deadline) { $0.clients.isEmpty ? true : nil }
    let left = state.update { state in
      state.isStopping = true
      defer { state.clients = [:] }
      return Array(state.clients.values)
    }
    for client in left {
      client.waiting?.resume(returning: nil)
      client.channel.close(promise: nil)
    }
    thread.withLock { thread in
      defer { thread = nil }
      return thread
    }?.join()
  }

  /// Ends the streams of some principals, for example after a logout.
  package func end(reason: String, where isSelected: (Principal) -> Bool) {
    state.update { state in
      for (id, client) in state.clients where isSelected(client.principal) {
        state.clients[id]?.farewell = reason
      }
      state.hasUrgent = true
    }
  }

  package var counters: Counters {
    state.withLock { state in
      state.counters.clients = state.clients.count
      return state.counters
    }
  }

  /// Returns the maximum number of streams of a login: a quarter of all, so that one user cannot occupy all
  /// streams. For a link, which can be widely shared, a sixteenth.
  private func share(of principal: Principal) -> Int {
    principal == .local ? limits.clients : max(4, limits.clients / (principal.isLink ? 16 : 4))
  }

  /// Returns the reason for which a principal may not open a further stream; nil if there is space.
  private func refusal(of principal: Principal, _ state: State) -> WebError? {
    guard !state.isClosed else { return .busy("the server ends") }
    guard state.clients.count < limits.clients else {
      return .busy("limit of \(limits.clients) streams reached")
    }
    let share = share(of: principal)
    let own = state.clients.values.count { $0.principal.name == principal.name }
    return own < share ? nil : .busy("\(principal.name) has \(share) streams already")
  }

  // MARK: Interface of the client tasks

  /// Opens a stream. Its task then calls `next` until it returns nil, and `close`; a stream without these
  /// calls is dropped like a stuck one.
  /// - Throws: 503 if there is no space.
  package func open(
    _ principal: Principal, _ view: StreamView, grant: AccessGrant? = nil, isPacked: Bool, lastID: String?,
    channel: any Channel
  ) throws(WebError) -> String {
    let now = MonotonicTime.now
    let resumed = lastID.flatMap { fleet.revision(of: $0) }
    let id = Self.identifier()
    let client = StreamClient(
      principal: principal, grant: grant, isPacked: isPacked, channel: channel, view: view,
      cursor: resumed.map(StreamCursor.resuming) ?? StreamCursor(), handedAt: now)
    let refused = state.update { state in
      let refusal = self.refusal(of: principal, state)
      if refusal == nil {
        state.clients[id] = client
        state.counters.opened += 1
      } else {
        state.counters.refused += 1
      }
      return refusal
    }
    if let refused { throw refused }
    // Detects a closed connection; a half-closed one is detected by a failed write.
    channel.closeFuture.whenComplete { [weak self] _ in self?.close(id) }
    return id
  }

  /// Records that the client has read a part of its update, so it is slow but not stuck.
  package func took(_ id: String) {
    state.update { $0.clients[id]?.handedAt = .now }
  }

  /// Returns the next data to write; nil at the end.
  package func next(_ id: String) async -> [ByteBuffer]? {
    await withCheckedContinuation { continuation in
      let isOpen = state.update { state in
        guard var client = state.clients[id], !client.isEnded else { return false }
        client.waiting = continuation
        let isUrgent = !client.isGreeted || client.cursor.next != nil || client.farewell != nil
        client.dueAt =
          isUrgent ? .start : StreamClient.due(after: .now, interval: client.view.interval)
        if client.dueAt < state.wakesAt { state.hasUrgent = true }
        state.clients[id] = client
        return true
      }
      if !isOpen { continuation.resume(returning: nil) }
    }
  }

  /// Closes a stream whose client is gone.
  package func close(_ id: String) {
    state.update { $0.clients.removeValue(forKey: id) }?.waiting?.resume(returning: nil)
  }

  /// Changes the view of an open stream.
  /// - Throws: 404 for a stream that does not exist or belongs to another principal.
  package func change(
    _ id: String, of principal: Principal, _ body: (inout StreamView) -> Void
  ) throws(WebError) {
    let isKnown = state.update { state in
      guard var client = state.clients[id], client.principal == principal else { return false }
      let before = client.view
      body(&client.view)
      if client.view.selected != before.selected { client.selectedRevision = 0 }
      if client.view.bounds != before.bounds {
        // Vehicles outside of the old view can be inside the new one, so their changes since the last full
        // update must be sent.
        client.cursor.inside = client.cursor.outside
      }
      client.dueAt = .start
      state.clients[id] = client
      state.hasUrgent = true
      return true
    }
    guard isKnown else { throw .notFound("stream \(id)", remedy: "open one by GET /api/v1/stream") }
  }

  /// Returns 128 random bits as hexadecimal digits.
  private static func identifier() -> String {
    var generator = SystemRandomNumberGenerator()
    return (0..<2).map { _ in
      let digits = String(generator.next() as UInt64, radix: 16)
      return String(repeating: "0", count: 16 - digits.count) + digits
    }.joined()
  }

  // MARK: Thread

  private func run() {
    guard let packer = try? GzipPacker(blocksAt: Self.level) else { return }
    var pieces: [StreamPieces.Key: StreamPieces.Piece] = [:]
    while true {
      let due = waitForDue()
      guard let due else { return }
      let events = StreamEvents(
        hub: fleet, sources: sources, at: .now, keepsPlain: due.contains { !$0.1.isPacked }, pieces: pieces)
      for (id, client) in due { tell(id, client, events, packer) }
      pieces = events.pieces
      dropStuck()
    }
  }

  /// The zlib level for streams, measured with 10,000 summaries: the next levels save 5 % for 50 % more time.
  private static let level = 1

  /// Waits until an update is due. Returns the clients to update; nil if the hub stops.
  private func waitForDue() -> [(String, StreamClient)]? {
    while true {
      let deadline: MonotonicTime? = state.withLock { state in
        if state.hasUrgent { return .start }
        state.wakesAt = .distantFuture
        guard !state.clients.isEmpty else { return nil }
        // The thread wakes up every second, to drop clients that are stuck while they write.
        let next = state.clients.values.compactMap { $0.waiting == nil ? nil : $0.dueAt }.min()
        state.wakesAt = min(next ?? .distantFuture, .after(1))
        return state.wakesAt
      }
      let isStopping = state.wait(until: deadline) { state -> Bool? in
        if state.isStopping { return true }
        return state.hasUrgent || (deadline == nil && !state.clients.isEmpty) ? false : nil
      }
      if isStopping == true { return nil }
      let now = MonotonicTime.now
      let due = state.update { state in
        state.hasUrgent = false
        return state.clients.filter {
          $0.value.waiting != nil && ($0.value.dueAt <= now || $0.value.farewell != nil)
        }
      }
      if !due.isEmpty { return due.map { ($0.key, $0.value) } }
      dropStuck()
    }
  }

  private func tell(_ id: String, _ before: StreamClient, _ events: StreamEvents, _ packer: GzipPacker) {
    var client = before
    let now = MonotonicTime.now
    // A client whose permission has ended only gets the reason.
    let lost = client.grant?.ending()
    let frames =
      lost.map { events.last(for: &client, reason: $0) }
      ?? events.frames(for: &client, id, heartbeat: limits.heartbeat, at: now)
    var buffers: [ByteBuffer] = []
    if client.isPacked, !before.isGreeted { buffers.append(ByteBuffer(bytes: Gzip.header)) }
    for frame in frames { buffers.append(frame.buffer(client.isPacked ? packer : nil, &client.sum)) }
    if client.isEnded, client.isPacked { buffers.append(ByteBuffer(bytes: Gzip.trailer(client.sum))) }
    let bytes = buffers.reduce(0) { $0 + $1.readableBytes }
    let waiting = state.update { state -> CheckedContinuation<[ByteBuffer]?, Never>? in
      // The client can have closed its stream or changed its view since this update was created.
      guard let current = state.clients[id] else { return nil }
      let isChanged = current.view != before.view
      (client.view, client.farewell) = (current.view, current.farewell)
      if isChanged {
        client.selectedRevision = 0
        client.cursor.inside = min(client.cursor.inside, client.cursor.outside)
        state.hasUrgent = true
      }
      // The next part of the first update follows immediately, even if this client can see none of the
      // vehicles in the last part.
      let shouldContinue = isChanged || client.cursor.next != nil
      if shouldContinue { state.hasUrgent = true }
      client.dueAt = shouldContinue ? .start : StreamClient.due(after: now, interval: client.view.interval)
      let waiting = buffers.isEmpty ? nil : current.waiting
      client.waiting = buffers.isEmpty ? current.waiting : nil
      if !buffers.isEmpty { client.handedAt = now }
      state.clients[id] = client
      state.counters.events += frames.count
      state.counters.bytes += bytes
      return waiting
    }
    waiting?.resume(returning: buffers)
  }

  /// Drops stuck clients.
  private func dropStuck() {
    let limit = MonotonicTime.after(-limits.clientTimeout)
    let stuck = state.update { state in
      let stuck = state.clients.filter { $0.value.waiting == nil && $0.value.handedAt < limit }
      for id in stuck.keys { state.clients[id] = nil }
      state.counters.dropped += stuck.count
      return stuck
    }
    for client in stuck.values { client.channel.close(promise: nil) }
  }
}
