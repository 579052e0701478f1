internal import Sensors
internal import Spatial

/// Samples of one device on their way to the sink, by kind.
struct SampleBlocks {
  private var accelerometer: [AccelerometerData] = []
  private var gyroscope: [GyroData] = []
  private var magnetometer: [MagnetometerData] = []
  private var barometer: [PressureData] = []
  private var thermometer: [TemperatureData] = []
  /// When the oldest sample was taken.
  private(set) var oldest: Timestamp?

  /// Takes a sample in; `value` is in the unit of the sample type, in the sensor's axes, a scalar in `x`.
  @inline(__always)
  mutating func append(_ kind: SensorKind, _ value: Vector3, at time: Timestamp, mounted: MountMatrix) {
    if oldest == nil { oldest = time }
    switch kind {
    case .accelerometer:
      accelerometer.append(AccelerometerData(timestamp: time, specificForce: mounted(value)))
    case .gyroscope: gyroscope.append(GyroData(timestamp: time, rotationRate: mounted(value)))
    case .magnetometer: magnetometer.append(MagnetometerData(timestamp: time, magneticField: mounted(value)))
    case .barometer: barometer.append(PressureData(timestamp: time, pressure: value.x))
    case .thermometer: thermometer.append(TemperatureData(timestamp: time, temperature: value.x))
    case .positioning: break
    }
  }

  mutating func filterThermometer(_ isKept: (TemperatureData) -> Bool) {
    thermometer = thermometer.filter(isKept)
  }

  /// Hands everything over, the magnetometer and accelerometer before the gyroscope of the same moment.
  mutating func flush(_ sink: (SensorEvent) -> Void) {
    if !thermometer.isEmpty { sink(.thermometer(thermometer)) }
    if !barometer.isEmpty { sink(.barometer(barometer)) }
    if !magnetometer.isEmpty { sink(.magnetometer(magnetometer)) }
    if !accelerometer.isEmpty { sink(.accelerometer(accelerometer)) }
    if !gyroscope.isEmpty { sink(.gyroscope(gyroscope)) }
    self = SampleBlocks()
  }
}
