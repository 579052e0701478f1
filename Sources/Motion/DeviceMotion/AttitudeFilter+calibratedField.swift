internal import Sensors

extension AttitudeFilter {
  /// The field around the device without its own magnetism as far as the filter knows it, and how far that is.
  func calibratedField(of sample: MagnetometerData) -> CalibratedMagneticField {
    CalibratedMagneticField(
      field: corrected(magnetometer: sample.magneticField),
      accuracy: flags.isMagnetometerStuck || flags.isAligning ? .uncalibrated : fieldAccuracy)
  }
}
