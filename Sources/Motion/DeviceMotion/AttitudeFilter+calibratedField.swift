internal import Sensors

extension AttitudeFilter {
  /// The field around the device as far as the filter knows the device's own magnetism. A filter that calibrates nothing
  /// says so.
  func calibratedField(of sample: MagnetometerData) -> CalibratedMagneticField {
    CalibratedMagneticField(field: sample.magneticField, accuracy: .uncalibrated)
  }
}
