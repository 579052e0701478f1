internal import Platform
internal import Sensors
internal import Spatial

/// Finds the devices, gives each a thread, and seeks those that were lost or are still missing.
final class Supervisor: Sendable {
  private let configuration: IIOConfiguration
  private let board: DemandBoard
  /// One for all devices, which the same machine stamps.
  private let clocks = RemoteClocks()
  private let wake: EventDescriptor
  private let sink: SensorSink
  private let reporter: StatusReporter
  private let isStopping: @Sendable () -> Bool
  private let found: @Sendable (Set<SensorKind>) -> Void
  private let discovery: DiscoveryProgress

  /// Seconds that a search may take with a host that does not answer: several reads, each with its time limit.
  private static let searchLimit = 120.0

  private struct Post {
    var worker: DeviceWorker
    var thread: DedicatedThread
    /// Whether it has delivered since it was started, so that the next loss is a new one.
    var isProven = false
  }

  init(
    configuration: IIOConfiguration, board: DemandBoard, wake: EventDescriptor, sink: @escaping SensorSink,
    isStopping: @escaping @Sendable () -> Bool, discovery: DiscoveryProgress,
    found: @escaping @Sendable (Set<SensorKind>) -> Void
  ) {
    (self.configuration, self.board, self.wake, self.sink) = (configuration, board, wake, sink)
    (self.isStopping, self.discovery, self.found) = (isStopping, discovery, found)
    reporter = StatusReporter(sink)
  }

  /// The thread's body.
  func run(_ heartbeat: Heartbeat) {
    BrokenPipe.block()
    var posts: [Post] = []
    var known: Set<SensorKind> = []
    var backoff = Backoff(floor: 0.2, base: 0.5, limit: 60)
    var retryAt: Int64 = 0
    var hasFound = false
    while !isStopping() {
      heartbeat.beat()
      reap(&posts)
      for index in posts.indices where !posts[index].isProven && posts[index].worker.hasDelivered {
        posts[index].isProven = true
        backoff.reset()
      }
      // Until anything was found everything is sought, so that what there is can be told; then only what is wanted.
      let served = posts.reduce(into: Set<SensorKind>()) { $0.formUnion($1.worker.assignment.kinds) }
      let needed =
        hasFound ? board.wanted.subtracting(configuration.helpers).union(known) : configuration.kinds
      let sought = needed.subtracting(served)
      var pause = 3600.0
      if !sought.isEmpty {
        let now = SystemClock.monotonic
        if now >= retryAt {
          heartbeat.expectPause(seconds: Self.searchLimit)
          if let inventory = seek(sought, served: served) {
            hasFound = true
            known.formUnion(inventory.kinds.intersection(configuration.kinds))
            found(known)
            start(inventory, sought: sought, posts: &posts)
          }
          discovery.found(posts.reduce(into: []) { $0.formUnion($1.worker.assignment.kinds) })
          retryAt = SystemClock.monotonic + Int64(backoff.next() * 1e9)
        }
        pause = Double(retryAt - SystemClock.monotonic) * 1e-9
      }
      _ = wake.wait(seconds: max(0.01, pause))
    }
    stop(posts)
  }

  /// Opens a context to look around in; says what is not to be had.
  private func seek(_ sought: Set<SensorKind>, served: Set<SensorKind>) -> IIOInventory? {
    do throws(IIOError) {
      let context = try Context(uri: configuration.uri)
      try context.setTimeout(seconds: configuration.timeout)
      let inventory = try IIOInventory(context, configuration: configuration)
      let reachable = inventory.assignments(configuration, wanted: sought).reduce(into: Set()) {
        $0.formUnion($1.kinds)
      }
      let missing = reporter.notYetUnavailable(
        board.wanted.intersection(sought).subtracting(reachable).subtracting(configuration.helpers))
      let present = inventory.devices.map(\.title).joined(separator: ", ")
      reporter.report(
        .unavailable(
          reason: "\(configuration.uri) has no \(missing.sorted().map(\.rawValue).joined(separator: ", ")) "
            + (present.isEmpty ? "and no other sensor" : "among \(present)")
            + "; load the driver, or name the device in the configuration"),
        source: "iio \(configuration.uri)", kinds: missing)
      return inventory
    } catch {
      let unsaid = reporter.notYetUnavailable(sought)
      reporter.report(.unavailable(reason: "\(error)"), source: "iio \(configuration.uri)", kinds: unsaid)
      return nil
    }
  }

  private func start(_ inventory: IIOInventory, sought: Set<SensorKind>, posts: inout [Post]) {
    for assignment in inventory.assignments(configuration, wanted: sought) {
      let source = "\(configuration.uri) \(assignment.device.title)"
      let report: @Sendable (SourceStatus.State) -> Void = { [reporter, discovery, wake] state in
        reporter.report(
          state, source: source, kinds: assignment.kinds,
          device: assignment.device.name ?? assignment.device.label, ranges: assignment.ranges)
        discovery.reported(assignment.kinds)
        if case .active = state { wake.signal() }
      }
      reporter.regroup(assignment.kinds)
      do throws(SystemError) {
        let worker = try DeviceWorker(
          assignment, triggers: inventory.triggers, configuration: configuration, board: board,
          clocks: clocks,
          emit: sink,
          report: report)
        let thread = try DedicatedThread.startWatched(
          name: assignment.device.identifier, call: { worker.call() },
          { [wake] heartbeat in
            worker.run(heartbeat)
            wake.signal()
          })
        posts.append(Post(worker: worker, thread: thread))
      } catch {
        report(.unavailable(reason: "\(error)"))
      }
    }
  }

  /// Joins the threads that have ended, and reports why they did.
  private func reap(_ posts: inout [Post]) {
    for post in posts where post.worker.hasEnded {
      post.thread.join()
      let assignment = post.worker.assignment
      if let failure = post.worker.failure {
        reporter.report(
          .unavailable(reason: "\(failure)"), source: "\(configuration.uri) \(assignment.device.title)",
          kinds: assignment.kinds)
        discovery.reported(assignment.kinds)
      }
    }
    posts.removeAll { $0.worker.hasEnded }
  }

  /// Powers everything down. A block that is under way may finish, because then the server is told properly; a
  /// read that takes longer is broken off. A thread that waits for a host that does not answer is left alone: libiio
  /// gives such a host up in its own time, which may be long.
  private func stop(_ posts: [Post]) {
    for post in posts { post.worker.stop() }
    wait(for: posts, seconds: 0.3)
    for post in posts where !post.worker.hasEnded { post.worker.interrupt() }
    wait(for: posts, seconds: 1)
    for post in posts { if post.worker.hasEnded { post.thread.join() } else { post.thread.detach() } }
  }

  private func wait(for posts: [Post], seconds: Double) {
    let deadline = SystemClock.monotonic + Int64(seconds * 1e9)
    while posts.contains(where: { !$0.worker.hasEnded }), SystemClock.monotonic < deadline {
      _ = wake.wait(seconds: Double(deadline - SystemClock.monotonic) * 1e-9)
    }
  }
}

/// Says a source's state once per change, however often it is found out.
final class StatusReporter: Sendable {
  private let last = Locked<[Set<SensorKind>: SourceStatus.State]>([:])
  private let sink: SensorSink

  init(_ sink: @escaping SensorSink) { self.sink = sink }

  /// Passes the state on unless the kinds are in it already. Two reasons for being unavailable are one state.
  func report(
    _ state: SourceStatus.State, source: String, kinds: Set<SensorKind>, device: String? = nil,
    ranges: [SensorKind: Double] = [:]
  ) {
    guard !kinds.isEmpty else { return }
    let isNews = last.withLock { last in
      if let known = last[kinds], known.isSame(as: state) { return false }
      last[kinds] = state
      return true
    }
    guard isNews else { return }
    sink(
      .status(
        SourceStatus(
          timestamp: Timestamp(nanoseconds: SystemClock.boottime), source: source, kinds: kinds, state: state,
          device: device, ranges: ranges)))
  }

  /// Which of the kinds are not known to be unavailable yet.
  func notYetUnavailable(_ kinds: Set<SensorKind>) -> Set<SensorKind> {
    let known = last.withLock { last in
      last.filter { if case .unavailable = $0.value { true } else { false } }.keys.reduce(into: Set()) {
        $0.formUnion($1)
      }
    }
    return kinds.subtracting(known)
  }

  /// Forgets what was said of kinds that are now grouped otherwise.
  func regroup(_ kinds: Set<SensorKind>) {
    last.withLock { last in
      last = last.filter { $0.key == kinds || $0.key.isDisjoint(with: kinds) }
    }
  }
}

extension SourceStatus.State {
  fileprivate func isSame(as other: SourceStatus.State) -> Bool {
    if case .unavailable = self, case .unavailable = other { return true }
    return self == other
  }
}
