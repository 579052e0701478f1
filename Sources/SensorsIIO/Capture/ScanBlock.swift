internal import Sensors
package import Spatial

/// The scans of one device on their way to the sink.
struct ScanBlock {
  private var scans: [InertialScan] = []
  private var pressures: [PressureData] = []
  /// When the oldest scan was taken.
  private(set) var oldest: Timestamp?

  /// Begins a scan; `add` fills it.
  @inline(__always)
  mutating func begin(at time: Timestamp) {
    if oldest == nil { oldest = time }
    scans.append(InertialScan(timestamp: time))
  }

  /// Puts a value into the scan begun last; `value` is in the unit of the scan and the sensor's axes, a scalar in `x`.
  @inline(__always)
  mutating func add(_ kind: SensorKind, _ value: Vector3, mounted: MountMatrix) {
    let last = scans.count - 1
    switch kind {
    case .accelerometer: scans[last].specificForce = mounted(value)
    case .gyroscope: scans[last].rotationRate = mounted(value)
    case .magnetometer: scans[last].magneticField = mounted(value)
    case .thermometer: scans[last].temperature = value.x
    case .barometer: pressures.append(PressureData(timestamp: scans[last].timestamp, pressure: value.x))
    case .positioning: break
    }
  }

  /// Hands everything over.
  mutating func flush(_ sink: (SensorEvent) -> Void) {
    scans.removeAll(where: \.isEmpty)
    // What was polled beside a buffer lies between its scans.
    if zip(scans, scans.dropFirst()).contains(where: { $0.timestamp > $1.timestamp }) {
      scans.sort { $0.timestamp < $1.timestamp }
    }
    if !pressures.isEmpty { sink(.barometer(pressures)) }
    if !scans.isEmpty { sink(.inertial(scans)) }
    self = ScanBlock()
  }
}

/// Lets one sample through per interval: of the temperatures that come with every scan hardly any is needed.
package struct RateLimit: Hashable, Sendable {
  /// Seconds between samples.
  package var interval: Double
  private var last: Timestamp?

  package init(interval: Double) { self.interval = interval }

  /// Whether a sample of this time passes.
  package mutating func passes(_ time: Timestamp) -> Bool {
    if let last, time.seconds(since: last) < interval, time >= last { return false }
    last = time
    return true
  }
}
