internal import Sensors

// What can be read at any moment; nil before the first sample.
extension LiveMotion {
  public var accelerometerData: AccelerometerData? { withManager(\.accelerometerData) }
  public var gyroData: GyroData? { withManager(\.gyroData) }
  public var magnetometerData: MagnetometerData? { withManager(\.magnetometerData) }
  public var deviceMotion: DeviceMotion? { withManager(\.deviceMotion) }

  public var isAccelerometerAvailable: Bool { withManager(\.isAccelerometerAvailable) }
  public var isGyroAvailable: Bool { withManager(\.isGyroAvailable) }
  public var isMagnetometerAvailable: Bool { withManager(\.isMagnetometerAvailable) }
  public var isDeviceMotionAvailable: Bool { withManager(\.isDeviceMotionAvailable) }

  public var isAccelerometerActive: Bool { withManager(\.isAccelerometerActive) }
  public var isGyroActive: Bool { withManager(\.isGyroActive) }
  public var isMagnetometerActive: Bool { withManager(\.isMagnetometerActive) }
  public var isDeviceMotionActive: Bool { withManager(\.isDeviceMotionActive) }
}
