public import Spatial

/// Simulated chips for `IIOFixture`, and the scans that they send.
public enum IIOChips {
  /// An accelerometer and gyroscope in one chip, with 16-bit axes, a temperature and a mount matrix.
  public static func addIMU(
    _ fixture: IIOFixture, number: Int = 0, name: String = "testimu", hasTrigger: Bool = true
  ) throws {
    try fixture.addDevice(
      number, name: name,
      channels: ["accel_x", "accel_y", "accel_z", "anglvel_x", "anglvel_y", "anglvel_z"].map {
        IIOFixture.Channel($0, "be:s16/16>>0")
      } + [IIOFixture.Channel("timestamp", "le:s64/64>>0")],
      files: [
        "in_accel_x_raw": "1000", "in_accel_y_raw": "-2000", "in_accel_z_raw": "8192",
        "in_accel_scale": "0.001197101", "in_anglvel_scale": "0.001",
        "in_anglvel_x_raw": "10", "in_anglvel_y_raw": "20", "in_anglvel_z_raw": "30",
        "in_accel_x_offset": "5", "in_mount_matrix": "0, 1, 0; -1, 0, 0; 0, 0, 1",
        "in_temp_raw": "2000", "in_temp_scale": "10", "in_temp_offset": "500",
        "sampling_frequency": "50", "sampling_frequency_available": "12.5 50 100 200",
        "current_timestamp_clock": "realtime",
      ], hasTrigger: hasTrigger)
  }

  /// A magnetometer and a barometer, each without a buffer.
  public static func addPolled(_ fixture: IIOFixture) throws {
    try fixture.addDevice(
      4, name: "testmag",
      files: [
        "in_magn_x_raw": "100", "in_magn_y_raw": "200", "in_magn_z_raw": "-300", "in_magn_scale": "0.0015",
      ])
    try fixture.addDevice(
      5, name: "testbaro", files: ["in_pressure_input": "101.325", "in_temp_input": "21500"])
  }

  /// A barometer without a buffer, with raw values like bmp280 and hid-sensor-press.
  public static func addRawBarometer(_ fixture: IIOFixture) throws {
    try fixture.addDevice(
      6, name: "press",
      files: ["in_pressure_raw": "1000", "in_pressure_offset": "13.25", "in_pressure_scale": "0.1"])
  }

  /// A barometer with a buffer that requires a trigger.
  public static func addBufferedBarometer(_ fixture: IIOFixture, number: Int) throws {
    try fixture.addDevice(
      number, name: "testbaro",
      channels: [
        IIOFixture.Channel("pressure", "le:s32/32>>0"), IIOFixture.Channel("timestamp", "le:s64/64>>0"),
      ],
      files: [
        "in_pressure_raw": "1013", "in_pressure_scale": "0.1", "current_timestamp_clock": "realtime",
      ], hasTrigger: true)
  }

  /// A scan with the accelerometer and the timestamp only.
  public static func accelerometerScan(_ x: Int16, _ y: Int16, _ z: Int16, stamp: Int64) -> [UInt8] {
    [x, y, z].flatMap { bigEndian($0) } + [0, 0] + littleEndian(stamp)
  }

  /// A scan with all six axes and the timestamp.
  public static func fullScan(_ axes: [Int16], stamp: Int64) -> [UInt8] {
    axes.flatMap { bigEndian($0) } + [0, 0, 0, 0] + littleEndian(stamp)
  }

  private static func bigEndian(_ value: Int16) -> [UInt8] {
    [UInt8(truncatingIfNeeded: value >> 8), UInt8(truncatingIfNeeded: value)]
  }

  private static func littleEndian(_ value: Int64) -> [UInt8] {
    (0..<8).map { UInt8(truncatingIfNeeded: value >> Int64($0 * 8)) }
  }

  /// Converts the chip's raw acceleration to m/s² in the device frame.
  public static func specificForce(_ x: Int16, _ y: Int16, _ z: Int16) -> Vector3 {
    let scale = 0.001197101
    let sensor = Vector3((Double(x) + 5) * scale, Double(y) * scale, Double(z) * scale)
    return Vector3(sensor.y, -sensor.x, sensor.z)
  }
}
