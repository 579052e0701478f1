internal import Platform
internal import Sensors
internal import Spatial

/// The supervisor of a source: finds the devices, starts a thread for each, and searches for lost or missing
/// ones.
final class Supervisor: Sendable {
  private let configuration: IIOConfiguration
  private let board: DemandBoard
  private let shared = DeviceWorker.SharedHardware()
  private let wake: EventDescriptor
  private let sink: SensorSink
  private let reporter: SourceStatusReporter
  private let isStopping: @Sendable () -> Bool
  private let found: @Sendable (Set<SensorKind>) -> Void
  private let discovery: DiscoveryProgress
  private let claims: SensorClaims
  /// The number of this context in `claims`.
  private let context: Int

  /// The time in s after the start during which optional kinds are searched for: drivers may be ready later than
  /// this program.
  private static let startupTime = 300.0

  /// The maximum duration in s of a search with a host that does not answer: several reads, each with its
  /// time limit.
  private static let searchLimit = 120.0

  private struct Post {
    var worker: DeviceWorker
    var thread: DedicatedThread
    /// True if the thread has delivered a sample, which has reset the back-off of the search.
    var isProven = false
  }

  init(
    configuration: IIOConfiguration, board: DemandBoard, wake: EventDescriptor, sink: @escaping SensorSink,
    isStopping: @escaping @Sendable () -> Bool, discovery: DiscoveryProgress,
    claims: SensorClaims, context: Int, found: @escaping @Sendable (Set<SensorKind>) -> Void
  ) {
    (self.claims, self.context) = (claims, context)
    (self.configuration, self.board, self.wake, self.sink) = (configuration, board, wake, sink)
    (self.isStopping, self.discovery, self.found) = (isStopping, discovery, found)
    reporter = SourceStatusReporter(sink)
  }

  /// Runs the thread.
  func run(_ heartbeat: Heartbeat) {
    BrokenPipe.block()
    var posts: [Post] = []
    var known: Set<SensorKind> = []
    var backoff = Backoff(floor: 0.2, base: 0.5, limit: 60)
    var lateBackoff = Backoff(floor: 1, base: 2, limit: 60)
    var (retryAt, lateRetryAt) = (MonotonicTime.start, MonotonicTime.start)
    var hasFound = false
    let startTime = MonotonicTime.now
    while !isStopping() {
      heartbeat.beat()
      reap(&posts)
      for index in posts.indices where !posts[index].isProven && posts[index].worker.hasDelivered {
        posts[index].isProven = true
        backoff.reset()
      }
      let served = posts.reduce(into: Set<SensorKind>()) { $0.formUnion($1.worker.assignment.kinds) }
      claims.hold(only: served, for: context)
      // Until the first hardware is found, all kinds are searched for, so that they can be listed; afterwards
      // those in demand, and at first optional ones.
      let needed =
        hasFound ? board.wanted.subtracting(configuration.helpers).union(known) : configuration.kinds
      let missing = claims.free(needed.subtracting(served), for: context)
      var late: Set<SensorKind> = []
      if startTime.secondsElapsed < Self.startupTime {
        late = claims.free(
          configuration.helpers.intersection(configuration.kinds).subtracting(needed).subtracting(served),
          for: context)
      }
      var pause = 3600.0
      let turn = claims.turn(of: context)
      if turn > 0 {
        pause = turn
      } else if !missing.isEmpty || !late.isEmpty {
        let isDue = !missing.isEmpty && retryAt.hasPassed
        if isDue || !late.isEmpty && lateRetryAt.hasPassed {
          let sought = isDue ? missing.union(late) : late
          heartbeat.expectPause(seconds: Self.searchLimit)
          if let inventory = seek(sought, needed: needed) {
            hasFound = true
            known.formUnion(inventory.kinds.intersection(configuration.kinds))
            found(known)
            start(inventory, sought: sought, posts: &posts)
          }
          claims.hasSearched(context)
          discovery.found(posts.reduce(into: []) { $0.formUnion($1.worker.assignment.kinds) })
          if isDue { retryAt = .after(backoff.next()) }
          lateRetryAt = .after(lateBackoff.next())
        }
        pause = min(
          missing.isEmpty ? pause : retryAt.secondsRemaining,
          late.isEmpty ? pause : lateRetryAt.secondsRemaining)
      } else {
        // Other contexts may have everything.
        claims.hasSearched(context)
        discovery.found(served)
      }
      _ = wake.wait(seconds: max(0.01, pause))
    }
    stop(posts)
  }

  /// Searches a context; reports missing hardware.
  ///
  /// - Parameter needed: the kinds whose absence is reported.
  private func seek(_ sought: Set<SensorKind>, needed: Set<SensorKind>) -> IIOInventory? {
    do throws(IIOError) {
      let context = try Context(uri: configuration.uri)
      try context.setTimeout(seconds: configuration.timeout)
      let inventory = try IIOInventory(context, configuration: configuration)
      let reachable = inventory.assignments(configuration, wanted: sought).reduce(into: Set()) {
        $0.formUnion($1.kinds)
      }
      // Another context may have found a kind during the search.
      let absent = claims.free(sought.subtracting(reachable), for: self.context)
      let missing = reporter.notYetUnavailable(
        board.wanted.intersection(absent).subtracting(configuration.helpers))
      let present = inventory.devices.map(\.title).joined(separator: ", ")
      reporter.report(
        .unavailable(
          reason: "\(configuration.uri) has no \(missing.sorted().map(\.rawValue).joined(separator: ", ")) "
            + (present.isEmpty ? "and no other sensor" : "among \(present)")
            + "; load the driver, or name the device in the configuration"),
        source: "iio \(configuration.uri)", kinds: missing)
      return inventory
    } catch {
      let unsaid = reporter.notYetUnavailable(
        claims.free(sought.intersection(needed), for: self.context))
      reporter.report(.unavailable(reason: "\(error)"), source: "iio \(configuration.uri)", kinds: unsaid)
      return nil
    }
  }

  private func start(_ inventory: IIOInventory, sought: Set<SensorKind>, posts: inout [Post]) {
    let present = inventory.assignments(configuration, wanted: sought).reduce(into: Set()) {
      $0.formUnion($1.kinds)
    }
    let claimed = claims.claim(present, for: context)
    for assignment in inventory.assignments(configuration, wanted: claimed) {
      if let post = posts.first(where: {
        $0.worker.assignment.device.identifier == assignment.device.identifier
      }) {
        // A device has one capture: its thread ends, and the next search starts it with all of its kinds.
        post.worker.stop()
        continue
      }
      let source = "\(configuration.uri) \(assignment.device.title)"
      let report: DeviceWorker.Report = { [reporter, discovery, wake, shared] state, since, restriction in
        let restrictions = shared.restrictions
        reporter.report(
          state, since: since, source: source, kinds: assignment.kinds,
          restriction: restrictions.combined(of: assignment.device.identifier, with: restriction),
          device: assignment.device.name ?? assignment.device.label,
          ranges: restrictions.ranges(of: assignment))
        discovery.reported(assignment.kinds)
        if case .active = state { wake.signal() }
      }
      reporter.regroup(assignment.kinds)
      do throws(SystemError) {
        let worker = try DeviceWorker(
          assignment, configuration: configuration, board: board, shared: shared, emit: sink,
          report: report)
        let thread = try DedicatedThread.startWatched(
          name: assignment.device.identifier, call: { worker.call() },
          { [wake] heartbeat in
            worker.run(heartbeat)
            wake.signal()
          })
        posts.append(Post(worker: worker, thread: thread))
      } catch {
        report(.unavailable(reason: "\(error)"), nil, nil)
      }
    }
  }

  /// Joins the threads that have exited, and reports the reason.
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

  /// Powers everything down. An active block may finish, so that the server is notified properly; a longer
  /// read is aborted. A thread that waits for a host without an answer is abandoned until libiio times out.
  private func stop(_ posts: [Post]) {
    for post in posts { post.worker.stop() }
    wait(for: posts, seconds: 0.3)
    for post in posts where !post.worker.hasEnded { post.worker.interrupt() }
    wait(for: posts, seconds: 1)
    for post in posts { if post.worker.hasEnded { post.thread.join() } else { post.thread.detach() } }
  }

  private func wait(for posts: [Post], seconds: Double) {
    let deadline = MonotonicTime.after(seconds)
    while posts.contains(where: { !$0.worker.hasEnded }), !deadline.hasPassed {
      _ = wake.wait(seconds: deadline.secondsRemaining)
    }
  }
}

/// A reporter that sends a source's state once per change.
final class SourceStatusReporter: Sendable {
  private struct Known {
    var state: SourceStatus.State
    var restriction: IIOError?

    /// Different reasons of unavailability count as the same state.
    func isSame(as other: Known) -> Bool {
      if case .unavailable = state, case .unavailable = other.state { return true }
      return state == other.state && restriction == other.restriction
    }
  }
  private let last = Locked<[Set<SensorKind>: Known]>([:])
  private let sink: SensorSink

  init(_ sink: @escaping SensorSink) { self.sink = sink }

  /// Reports a state unless it was already reported for these kinds.
  ///
  /// - Parameters:
  ///   - since: the time since which the state applies; nil for now.
  ///   - restriction: the reason why an active device delivers less than it could; nil if it does not.
  func report(
    _ state: SourceStatus.State, since: Timestamp? = nil, source: String, kinds: Set<SensorKind>,
    restriction: IIOError? = nil, device: String? = nil, ranges: [SensorKind: Double] = [:]
  ) {
    guard !kinds.isEmpty else { return }
    let isNews = last.withLock { last in
      let new = Known(state: state, restriction: restriction)
      if let known = last[kinds], known.isSame(as: new) { return false }
      last[kinds] = new
      return true
    }
    guard isNews else { return }
    sink(
      .status(
        SourceStatus(
          timestamp: since ?? .now, source: source, kinds: kinds, state: state, device: device,
          ranges: ranges, restriction: restriction.map { "\($0)" })))
  }

  /// Returns the kinds that were not reported as unavailable.
  func notYetUnavailable(_ kinds: Set<SensorKind>) -> Set<SensorKind> {
    let known = last.withLock { last in
      last.filter { if case .unavailable = $0.value.state { true } else { false } }.keys.reduce(into: Set()) {
        $0.formUnion($1)
      }
    }
    return kinds.subtracting(known)
  }

  /// Discards the reported states of groups that share kinds with this group but are not equal to it.
  func regroup(_ kinds: Set<SensorKind>) {
    last.withLock { last in
      last = last.filter { $0.key == kinds || $0.key.isDisjoint(with: kinds) }
    }
  }
}
