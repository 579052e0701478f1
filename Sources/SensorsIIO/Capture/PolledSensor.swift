internal import Glibc
internal import Platform
internal import Sensors
internal import Spatial

/// A sensor read through its attributes, value by value, for want of a buffer.
struct PolledSensor {
  let sensor: IIOInventory.Sensor
  /// Seconds between readings.
  let interval: Double
  private let scales: [LinearScale]
  /// When it is read next, ns on the boot clock.
  private(set) var due: Int64

  init(_ sensor: IIOInventory.Sensor, of device: borrowing Device, interval: Double, from now: Int64)
    throws(IIOError)
  {
    self.sensor = sensor
    self.interval = interval
    scales = try device.scales(of: sensor)
    due = now
  }

  /// Reads the sensor; its time is the middle of the reading.
  ///
  /// - Returns: false where the driver refuses for the moment, as some do while their buffer runs.
  mutating func read(from device: borrowing Device, into block: inout ScanBlock) throws(IIOError) -> Bool {
    let start = SystemClock.boottime
    // Readings that were missed are not caught up with.
    due = max(due + Int64(interval * 1e9), start)
    var value = Vector3.zero
    do throws(IIOError) {
      for (axis, identifier) in sensor.channels.prefix(3).enumerated() {
        let scale = scales[axis]
        value[axis] = try device.withChannel(identifier) { channel throws(IIOError) in
          if let raw = try channel.number("raw") { return scale(raw) }
          if let finished = try channel.number("input") { return finished * sensor.kind.unitFactor }
          throw IIOError(
            operation: .read, object: "\(device.object) \(identifier)", code: SystemErrno(rawValue: ENODEV),
            reason: "it has neither a buffer nor a raw nor an input attribute")
        }
      }
    } catch {
      guard error.code?.rawValue == EBUSY || error.code?.rawValue == EAGAIN else { throw error }
      return false
    }
    let end = SystemClock.boottime
    block.begin(at: Timestamp(nanoseconds: start + (end - start) / 2))
    block.add(sensor.kind, value, mounted: sensor.mountMatrix)
    return true
  }
}
