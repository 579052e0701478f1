import Motion
import Sensors
import Spatial

/// The filter behind the screen, as it is used, one sensor at a time.
@dynamicMemberLookup
struct ScreenedFilter {
  private(set) var screen = ScanScreen()
  private(set) var filter: AttitudeFilter

  init(_ parameters: AttitudeFilter.Parameters = .init(), calibration: MotionCalibration? = nil) {
    filter = AttitudeFilter(parameters, calibration: calibration)
  }

  subscript<Value>(dynamicMember path: KeyPath<AttitudeFilter, Value>) -> Value { filter[keyPath: path] }

  mutating func process(_ scan: InertialScan) {
    var scan = scan
    let doubts = screen.admit(&scan)
    filter.process(scan, doubts: doubts)
  }

  mutating func process(_ acceleration: KnownAcceleration) { filter.process(acceleration) }

  mutating func update(gyroscope rate: Vector3, at time: Timestamp) {
    process(InertialScan(timestamp: time, rotationRate: rate))
  }

  /// Specific force, m/s².
  mutating func update(accelerometer force: Vector3, at time: Timestamp) {
    process(InertialScan(timestamp: time, specificForce: force))
  }

  mutating func update(magnetometer field: Vector3, at time: Timestamp) {
    process(InertialScan(timestamp: time, magneticField: field))
  }

  /// A count of what became of the samples, summed over the sensors.
  func count(_ path: KeyPath<SensorHealth, Int>) -> Int {
    [SensorKind.accelerometer, .gyroscope, .magnetometer].reduce(0) {
      $0 + (screen.health(of: $1)?[keyPath: path] ?? 0)
    }
  }
}
