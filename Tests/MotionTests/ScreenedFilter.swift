import Motion
import Sensors
import Spatial

/// The filter behind the sample screen, as in production, fed by one sensor at a time.
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

  /// Processes a specific force in m/s².
  mutating func update(accelerometer force: Vector3, at time: Timestamp) {
    process(InertialScan(timestamp: time, specificForce: force))
  }

  mutating func update(magnetometer field: Vector3, at time: Timestamp) {
    process(InertialScan(timestamp: time, magneticField: field))
  }

  /// Returns a counter of the sensors' health, summed over the sensors.
  func count(_ path: KeyPath<SensorHealth, Int>) -> Int {
    [SensorKind.accelerometer, .gyroscope, .magnetometer].reduce(0) {
      $0 + (screen.health(of: $1)?[keyPath: path] ?? 0)
    }
  }
}
