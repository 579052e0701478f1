public import Sensors
internal import Spatial

/// A receiver that never has a position: it reports every second without a fix, like a simulator's "no
/// location".
public struct NoLocation: SensorRecording {
  public let name = "no location"
  public let kinds: Set<SensorKind> = [.positioning]

  private let duration: Duration?
  private var second: Int64 = 0
  private var gate = DemandGate()
  private var lastTimestamp: Timestamp?

  /// Creates a recording.
  /// - Parameter duration: time after which the recording ends; nil if it never ends.
  public init(duration: Duration? = nil) { self.duration = duration }

  public mutating func setDemand(_ demand: SensorDemand, for kind: SensorKind) {
    if kind == .positioning { gate.setDemand(demand, at: lastTimestamp) }
  }

  /// Returns the next second's report. Without a demand the block is empty, so that time still advances and
  /// an infinite recording does not block its reader.
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
