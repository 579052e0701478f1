internal import Sensors
internal import Spatial

extension SensorEvent {
  /// The same event that much later on the time line.
  func shifted(byNanoseconds nanoseconds: Int64) -> SensorEvent {
    func shift<Sample>(_ block: [Sample], _ time: WritableKeyPath<Sample, Timestamp>) -> [Sample] {
      block.map { sample in
        var sample = sample
        sample[keyPath: time].nanoseconds &+= nanoseconds
        return sample
      }
    }
    switch self {
    case .accelerometer(let block): return .accelerometer(shift(block, \.timestamp))
    case .gyroscope(let block): return .gyroscope(shift(block, \.timestamp))
    case .magnetometer(let block): return .magnetometer(shift(block, \.timestamp))
    case .barometer(let block): return .barometer(shift(block, \.timestamp))
    case .thermometer(let block): return .thermometer(shift(block, \.timestamp))
    case .position(let block): return .position(shift(block, \.timestamp))
    case .status(var status):
      status.timestamp.nanoseconds &+= nanoseconds
      return .status(status)
    }
  }
}
