public import Platform
public import Sensors

/// A source for inertial sensors, magnetometers, barometers and thermometers of the Linux kernel's IIO
/// subsystem: on this machine (`local:`), over the network (`ip:`) or over USB (`usb:`).
///
/// - Each device has its own thread and context. The thread sleeps without a demand, captures exactly the
///   requested channels, and destroys the buffer when the demand ends, so that the kernel can suspend the
///   chip.
/// - Time stamps are those of the hardware: local ones on the boot clock, others with an offset that follows
///   their clock. Otherwise the intervals between samples are those stamped by the driver; see `HardwareClock`.
/// - A chip with several kinds runs at the highest requested rate and delivers all kinds at that rate:
///   decimation without a filter would alias vibration into the signal.
/// - A lost device is reported as `unavailable` once, searched for with a jittered back-off, and reported as
///   `active` again once.
/// - Over a network a block lasts at most a quarter of the configured time limit; see `BufferedCapture.Plan`.
public final class IIOSource: SensorSource {
  public let name: String
  private let configuration: IIOConfiguration
  private let board = DemandBoard()
  private let found: Locked<Set<SensorKind>>
  private let thread: ServiceThread
  /// True after `stop`, so that events of abandoned threads are dropped.
  private let hasEnded = Locked(false)
  private let discovery = DiscoveryProgress()
  private let claims: SensorClaims
  /// The number of this context in `claims`.
  private let context: Int

  /// The time limit in s for stopping the threads. A thread that waits for a host without an answer is then
  /// abandoned.
  private static let stopTimeout = 2.0

  /// Creates a source.
  ///
  /// - Parameter claims: shared by the sources of several contexts, so that only one of them delivers each kind.
  /// - Throws: `SystemError` if the process has no free file descriptors.
  public init(
    _ configuration: IIOConfiguration = IIOConfiguration(), claims: SensorClaims = SensorClaims()
  ) throws(SystemError) {
    (self.configuration, self.claims) = (configuration, claims)
    name = "iio \(configuration.uri)"
    found = Locked(configuration.kinds.intersection(SensorKind.iioKinds))
    thread = try ServiceThread()
    context = claims.register(thread.wake)
  }

  /// The kinds that were found; before the hardware is reachable, those that are configured.
  public var kinds: Set<SensorKind> { found.withLock { $0 } }

  public func start(_ sink: @escaping SensorSink) throws {
    board.addListener(thread.wake)
    let supervisor = Supervisor(
      configuration: configuration, board: board, wake: thread.wake,
      sink: { [hasEnded] event in if !hasEnded.withLock({ $0 }) { sink(event) } },
      isStopping: { [thread] in thread.isStopping }, discovery: discovery, claims: claims, context: context,
      found: { [found] kinds in found.withLock { $0 = kinds } })
    try thread.start(name: "iio") { supervisor.run($0) }
  }

  public func setDemand(_ demand: SensorDemand, for kind: SensorKind) {
    guard configuration.kinds.contains(kind) else { return }
    board.set(demand, for: kind)
  }

  /// Returns when the first search is over and each device that it found has reported its state.
  public func waitForDiscovery(seconds: Double) { discovery.wait(seconds: seconds) }

  /// Powers the hardware down and returns when the threads have ended, within the duration of a block.
  /// Threads that wait for a host without an answer are abandoned after two seconds and deliver nothing
  /// afterwards; they end when libiio times out.
  public func stop() {
    thread.stop(timeout: Self.stopTimeout)
    hasEnded.withLock { $0 = true }
    discovery.end()
    board.removeListener(thread.wake)
  }
}

/// Progress of the first search for hardware.
final class DiscoveryProgress: Sendable {
  private struct State {
    /// The discovered kinds; nil during the search.
    var found: Set<SensorKind>?
    var reported: Set<SensorKind> = []
    var hasEnded = false
  }

  private let state = Monitor(State())

  /// Records the result of the first search. Results of later searches are ignored.
  func found(_ kinds: Set<SensorKind>) { state.update { $0.found = $0.found ?? kinds } }

  func reported(_ kinds: Set<SensorKind>) { state.update { $0.reported.formUnion(kinds) } }

  func end() { state.update { $0.hasEnded = true } }

  func wait(seconds: Double) {
    let deadline = MonotonicTime.after(max(0, min(seconds, 3600)))
    _ = state.wait(until: deadline) { state in
      state.hasEnded || state.found.map(state.reported.isSuperset) ?? false ? () : nil
    }
  }
}
