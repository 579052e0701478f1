internal import CIIO
package import Sensors

/// What IIO calls the kinds of sensor, and its units (Documentation/ABI/testing/sysfs-bus-iio).
extension SensorKind {
  /// The kinds that an IIO device can measure.
  package static var iioKinds: Set<SensorKind> {
    [.accelerometer, .gyroscope, .magnetometer, .barometer, .thermometer]
  }

  /// The channels that hold the kind: three axes, or the one scalar. Where a chip has several scalars of a kind
  /// the first found counts.
  package var channelIdentifiers: [[String]] {
    switch self {
    case .accelerometer: [["accel_x", "accel_y", "accel_z"]]
    case .gyroscope: [["anglvel_x", "anglvel_y", "anglvel_z"]]
    case .magnetometer: [["magn_x", "magn_y", "magn_z"]]
    case .barometer: [["pressure"], ["pressure0"]]
    case .thermometer: [["temp"], ["temp0"], ["temp_object"], ["temp_ambient"]]
    case .positioning: []
    }
  }

  /// By what a value in IIO's unit is multiplied to give the unit of the sample types: accelerations m/s² and
  /// angular velocities rad/s stay; Gauss become µT, kilopascals Pa, thousandths of a degree °C.
  package var unitFactor: Double {
    switch self {
    case .magnetometer: 100
    case .barometer: 1000
    case .thermometer: 0.001
    case .accelerometer, .gyroscope, .positioning: 1
    }
  }

  /// The stem of IIO's attribute names for the kind, as in `in_accel_mount_matrix`.
  var attributeStem: String {
    switch self {
    case .accelerometer: "accel"
    case .gyroscope: "anglvel"
    case .magnetometer: "magn"
    case .barometer: "pressure"
    case .thermometer: "temp"
    case .positioning: "positioning"
    }
  }
}

/// How a raw value becomes a quantity: `(raw + offset) * scale`, in that order.
package struct LinearScale: Hashable, Sendable {
  /// In raw units.
  package var offset: Double
  /// From raw units to the unit of the sample type.
  package var scale: Double

  package init(offset: Double = 0, scale: Double = 1) {
    (self.offset, self.scale) = (offset, scale)
  }

  @inline(__always)
  package func callAsFunction(_ raw: Double) -> Double { (raw + offset) * scale }
}
