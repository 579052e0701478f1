internal import Platform
public import Sensors

/// The receivers of a gpsd, live.
///
/// A thread of its own watches gpsd while positions are wanted, and hands over one `PositionFix` for each report
/// (gpsd's TPV). It outlives everything on the other side: a gpsd that is not running yet, one that is restarted, a
/// receiver that is unplugged. It says so once, tries again with jittered back-off, and says once that reports come
/// again.
///
/// Demand: `.off` leaves the watch and closes the connection, whereupon gpsd lets the receiver sleep; a duty cycle
/// watches for the on phase of every period only; a rate watches all the time. A receiver's rate is its own and
/// shared with gpsd's other clients, so it is left alone: of a rate below 1 Hz the reports between are left out. With a
/// latency of two seconds or more, reports wait in the socket for as long, ten seconds at most, and come as one block.
public final class GPSDSource: SensorSource {
  public let name: String
  public let kinds: Set<SensorKind> = [.positioning]

  private let address: GPSDAddress
  private let device: String?
  private let wake: EventDescriptor
  private let shared = Locked(Shared())

  private struct Shared {
    var demand = SensorDemand.off
    var isStopping = false
    var thread: DedicatedThread?
  }

  /// - Parameters:
  ///   - address: where gpsd listens.
  ///   - device: the path of the only receiver to hear, as gpsd knows it ("/dev/ttyACM0"); nil for all.
  /// - Throws: `SystemError` when the process has no file descriptor left.
  public init(_ address: GPSDAddress = GPSDAddress(), device: String? = nil) throws {
    self.address = address
    self.device = device
    name = address.description + (device.map { " (\($0))" } ?? "")
    wake = try EventDescriptor()
  }

  /// - Throws: `SystemError` when the kernel has no room for another thread. A second call does nothing.
  public func start(_ sink: @escaping SensorSink) throws {
    try shared.withLock { shared in
      guard shared.thread == nil, !shared.isStopping else { return }
      shared.thread = try DedicatedThread.startWatched(
        name: "gpsd", call: { [wake] in wake.signal() },
        {
          [self] in run(sink, $0)
        })
    }
  }

  public func setDemand(_ demand: SensorDemand, for kind: SensorKind) {
    guard kind == .positioning else { return }
    shared.withLock { $0.demand = demand }
    wake.signal()
  }

  public func stop() {
    let thread = shared.withLock { shared in
      shared.isStopping = true
      defer { shared.thread = nil }
      return shared.thread
    }
    wake.signal()
    thread?.join()
  }

  private func run(_ sink: @escaping SensorSink, _ heartbeat: Heartbeat) {
    var worker = GPSDWorker(
      name: name, address: address, device: device, wake: wake, heartbeat: heartbeat, sink: sink)
    while let demand = demandUnlessStopping() {
      heartbeat.beat()
      worker.work(demand: demand)
    }
  }

  private func demandUnlessStopping() -> SensorDemand? {
    shared.withLock { $0.isStopping ? nil : $0.demand }
  }
}
