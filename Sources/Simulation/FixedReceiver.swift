public import Sensors
public import Spatial

/// A receiver at a fixed position: the same fix every second, without motion sensors.
public struct FixedReceiver: SensorRecording {
  public let name = "simulated place"
  public let kinds: Set<SensorKind> = [.positioning]

  private let coordinate: Coordinate
  private let duration: Duration?
  private var second: Int64 = 0
  private var gate = DemandGate()
  private var lastTimestamp: Timestamp?

  /// - Parameter duration: time after which the recording ends; nil if it never ends.
  public init(_ coordinate: Coordinate, duration: Duration? = nil) {
    self.coordinate = coordinate
    self.duration = duration
  }

  public mutating func setDemand(_ demand: SensorDemand, for kind: SensorKind) {
    if kind == .positioning { gate.setDemand(demand, at: lastTimestamp) }
  }

  /// Returns the fix of the next second. Without demand the block is empty, but time still advances.
  public mutating func next() -> SensorEvent? {
    if let duration, Duration.seconds(second) >= duration { return nil }
    let timestamp = Timestamp(nanoseconds: second * 1_000_000_000)
    second += 1
    lastTimestamp = timestamp
    guard gate.admits(timestamp) else { return .position([]) }
    return .position([Self.fix(at: coordinate, timestamp)])
  }

  /// The fix of a device at rest, accurate to 5 m at 95 %.
  package static func fix(at coordinate: Coordinate, _ timestamp: Timestamp, time: UTCTime? = nil)
    -> PositionFix
  {
    var fix = PositionFix(timestamp: timestamp, time: time, mode: .twoDimensional, coordinate: coordinate)
    fix.speed = 0
    fix.horizontalError = 5
    fix.speedError = 0.1
    fix.receiver = "simulated place"
    return fix
  }
}
