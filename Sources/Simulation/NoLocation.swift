public import Sensors
internal import Spatial

/// A receiver that never finds its position: a report without a fix every second, as a simulator's
/// "no location".
public struct NoLocation: SensorRecording {
  public let name = "no location"
  public let kinds: Set<SensorKind> = [.positioning]

  private let duration: Duration?
  private var second: Int64 = 0
  private var gate = DemandGate()
  private var lastTimestamp: Timestamp?

  /// - Parameter duration: when it ends; nil for never.
  public init(duration: Duration? = nil) { self.duration = duration }

  public mutating func setDemand(_ demand: SensorDemand, for kind: SensorKind) {
    if kind == .positioning { gate.setDemand(demand, at: lastTimestamp) }
  }

  /// The next second's report. While none is wanted the block is empty: time passes all the same, and a
  /// recording that never ends must not keep its reader waiting.
  public mutating func next() -> SensorEvent? {
    if let duration, Duration.seconds(second) >= duration { return nil }
    let timestamp = Timestamp(nanoseconds: second * 1_000_000_000)
    second += 1
    lastTimestamp = timestamp
    guard gate.admits(timestamp) else { return .position([]) }
    var fix = PositionFix(timestamp: timestamp, mode: .noFix)
    fix.receiver = name
    return .position([fix])
  }
}
