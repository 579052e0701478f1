public import Platform
public import Sensors

/// Inertial sensors, magnetometers, barometers and thermometers of the Linux kernel's IIO subsystem, on this
/// machine (`local:`), on another (`ip:`) or behind USB (`usb:`).
///
/// - Each device has a thread and a context of its own. It sleeps until something is demanded, captures exactly the
///   channels demanded, and destroys the buffer when nothing is, so that the kernel can suspend the chip.
/// - Time stamps are the hardware's: on this machine on its boot clock, of another machine with one constant added.
///   The intervals between samples are exactly those that the driver stamped; see `HardwareClock`.
/// - A chip that holds several kinds runs at the highest rate demanded of them, and all of them are delivered at
///   that rate: dropping samples of the slower kind without a filter would alias vibration into it.
/// - A device that is lost is said to be `unavailable` once, sought with jittered back-off, and `active` again once.
/// - Over a network a block lasts at most a quarter of the configured time limit; see `BufferedCapture.Plan`.
public final class IIOSource: SensorSource {
  public let name: String
  private let configuration: IIOConfiguration
  private let board = DemandBoard()
  private let found: Locked<Set<SensorKind>>
  private let thread: ServiceThread
  /// A thread that was left alone has nothing to say any more.
  private let hasEnded = Locked(false)
  private let discovery = DiscoveryProgress()

  /// Seconds that the threads may take to end. One that waits for a host that does not answer is left alone then.
  private static let patience = 2.0

  /// - Throws: `SystemError` when the process has no descriptor left.
  public init(_ configuration: IIOConfiguration = IIOConfiguration()) throws(SystemError) {
    self.configuration = configuration
    name = "iio \(configuration.uri)"
    found = Locked(configuration.kinds.intersection(SensorKind.iioKinds))
    thread = try ServiceThread()
  }

  /// The kinds that were found; before the hardware has been reached, those that are configured.
  public var kinds: Set<SensorKind> { found.withLock { $0 } }

  public func start(_ sink: @escaping SensorSink) throws {
    board.addListener(thread.wake)
    let supervisor = Supervisor(
      configuration: configuration, board: board, wake: thread.wake,
      sink: { [hasEnded] event in if !hasEnded.withLock({ $0 }) { sink(event) } },
      isStopping: { [thread] in thread.isStopping }, discovery: discovery,
      found: { [found] kinds in found.withLock { $0 = kinds } })
    try thread.start(name: "iio") { supervisor.run($0) }
  }

  public func setDemand(_ demand: SensorDemand, for kind: SensorKind) {
    guard configuration.kinds.contains(kind) else { return }
    board.set(demand, for: kind)
  }

  /// Returns when the first search is over and each device that it found has reported its state.
  public func waitForDiscovery(seconds: Double) { discovery.wait(seconds: seconds) }

  /// Powers the hardware down and returns when the threads have ended: within a block's length. Threads that wait for a host
  /// that does not answer are left after two seconds, and nothing comes from them any more; they end when libiio gives up.
  public func stop() {
    thread.stop(patience: Self.patience)
    hasEnded.withLock { $0 = true }
    discovery.end()
    board.removeListener(thread.wake)
  }
}

/// How far the first search for hardware has got.
final class DiscoveryProgress: Sendable {
  private struct State {
    /// The kinds that were found; nil while the search lasts.
    var found: Set<SensorKind>?
    var reported: Set<SensorKind> = []
    var hasEnded = false
  }

  private let state = Monitor(State())

  /// Ends the search. Later searches do not count.
  func found(_ kinds: Set<SensorKind>) { state.update { $0.found = $0.found ?? kinds } }

  func reported(_ kinds: Set<SensorKind>) { state.update { $0.reported.formUnion(kinds) } }

  func end() { state.update { $0.hasEnded = true } }

  func wait(seconds: Double) {
    let deadline = SystemClock.monotonic &+ Int64(max(0, min(seconds, 3600)) * 1e9)
    _ = state.wait(until: deadline) { state in
      state.hasEnded || state.found.map(state.reported.isSuperset) ?? false ? () : nil
    }
  }
}
