import Motion
import Sensors
import Spatial
import Testing

@Suite struct MotionCalibrationTests {
  private static let calibration: MotionCalibration = {
    var calibration = MotionCalibration()
    calibration.devices = [.gyroscope: "lsm6dsox", .magnetometer: "lis3mdl at the roof"]
    calibration.made = UTCTime(nanoseconds: 1_795_248_930_000_000_001)
    calibration.keep(
      .init(temperature: 10.5, bias: Vector3(0.01, -0.02, 1e-9), deviation: Vector3(1e-4, 2e-4, 3e-4)))
    calibration.keep(.init(temperature: 30.5, bias: Vector3(0.03, -0.02, 0), deviation: Vector3(1e-3, 0, 0)))
    var magnetometer = MotionCalibration.Magnetometer(
      hardIron: Vector3(10.1, -3.3, 0.7), hardIronDeviation: Vector3(0.1, 0.2, 1 / 3))
    magnetometer.softIronDiagonal = Vector3(0.1, -0.05, -0.05)
    magnetometer.softIronOffDiagonal = Vector3(0.01, 0.02, 0.03)
    calibration.magnetometer = magnetometer
    calibration.magnetometerLag = 0.014
    calibration.gyroscopeScaleError = Vector3(0.01, 0.02, -1e-3)
    calibration.level = LevelCalibration(gravity: Vector3(0.1, -0.7, -0.6))
    return calibration
  }()

  @Test func roundTripsToTheLastDigit() throws {
    #expect(try MotionCalibration(text: Self.calibration.text) == Self.calibration)
    #expect(try MotionCalibration(text: MotionCalibration().text) == MotionCalibration())
    var bare = MotionCalibration()
    bare.devices[.gyroscope] = "two\nlines\r\nand\tmore"
    bare.keep(.init(temperature: nil, bias: .zero, deviation: Vector3(0.1, 0.1, 0.1)))
    let back = try MotionCalibration(text: bare.text)
    #expect(back.devices == [.gyroscope: "two lines and more"])
    #expect(back.gyroBiases == bare.gyroBiases && back.magnetometer == nil && back.made == nil)
  }

  @Test func everyDamagedByteIsDetected() {
    let bytes = Array(Self.calibration.text.utf8)
    for index in bytes.indices {
      var damaged = bytes
      damaged[index] ^= 0x04
      let text = String(decoding: damaged, as: UTF8.self)
      #expect(throws: StoredStateError.self, "byte \(index)") { try MotionCalibration(text: text) }
    }
    for count in bytes.indices {
      let text = String(decoding: bytes.prefix(count), as: UTF8.self)
      #expect(throws: StoredStateError.self, "\(count) bytes") { try MotionCalibration(text: text) }
    }
  }

  @Test(
    arguments: [(10.5, 0.01), (20.5, 0.02), (30.5, 0.03), (-40, 0.01), (85, 0.03), (nil, 0.03)]
      as [(Double?, Double)])
  func biasFollowsTheTemperature(temperature: Double?, x: Double) throws {
    let bias = try #require(Self.calibration.gyroBias(at: temperature))
    #expect(abs(bias.bias.x - x) < 1e-12)
  }

  @Test func levelBelongsToItsAccelerometer() {
    var calibration = MotionCalibration()
    calibration.level = LevelCalibration(gravity: Vector3(0.1, 0, -1))
    #expect(!calibration.isEmpty)
    let first = calibration.bind(.accelerometer, to: "bmi160")
    #expect(!first && calibration.level != nil)
    let other = calibration.bind(.accelerometer, to: "lsm6dsox")
    #expect(other && calibration.level == nil)
  }

  @Test func oneBiasIsStoredPerTemperatureStep() {
    var calibration = MotionCalibration()
    #expect(calibration.gyroBias(at: 20) == nil && calibration.isEmpty)
    calibration.keep(.init(temperature: 31, bias: Vector3(0.02, 0, 0), deviation: .zero))
    calibration.keep(.init(temperature: 9, bias: .zero, deviation: .zero))
    calibration.keep(.init(temperature: 29, bias: Vector3(0.03, 0, 0), deviation: .zero))
    calibration.keep(.init(temperature: 20, bias: Vector3(.nan, 0, 0), deviation: .zero))
    calibration.keep(.init(temperature: .infinity, bias: .zero, deviation: .zero))
    #expect(calibration.gyroBiases.map(\.temperature) == [9, 29])
    #expect(calibration.gyroBias(at: 90)?.bias.x == 0.03)
    for degrees in stride(from: -200.0, to: 200, by: 5) {
      calibration.keep(.init(temperature: degrees, bias: .zero, deviation: .zero))
    }
    #expect(calibration.gyroBiases.count == MotionCalibration.biasLimit)
  }

  /// The correction inverts the ellipsoid of hard and soft iron.
  @Test func fieldIsCorrected() {
    let raw = Vector3(30.1, 6.7, 20.7)
    // raw - hardIron = (20, 10, 20)
    let expected = Vector3(20 + 2 + 0.1 + 0.4, 10 + 0.2 - 0.5 + 0.6, 20 + 0.4 + 0.3 - 1)
    let corrected = Self.calibration.magnetometer?.corrected(raw) ?? .zero
    #expect((corrected - expected).length < 1e-12)
  }

  @Test func otherHardwareDiscardsLearnedParameters() {
    var calibration = Self.calibration
    /// Returns true if learned parameters were discarded.
    func bind(_ kind: SensorKind, _ device: String) -> Bool { calibration.bind(kind, to: device) }
    #expect(!bind(.gyroscope, "lsm6dsox"))
    #expect(!bind(.accelerometer, "bmi160"))
    #expect(calibration.gyroBiases.count == 2)
    #expect(bind(.magnetometer, "ak8963"))
    #expect(calibration.magnetometer == nil && calibration.gyroBiases.count == 2)
    #expect(bind(.gyroscope, "bmi160"))
    #expect(bind(.accelerometer, "icm20948"))
    #expect(calibration.isEmpty)
    #expect(!bind(.gyroscope, "icm20948"))
  }
}
