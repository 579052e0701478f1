internal import Glibc
internal import Platform
internal import Sensors
internal import Spatial

/// A sensor without a buffer, read through its attributes value by value.
struct PolledSensor {
  let sensor: IIOInventory.Sensor
  /// The interval between readings in s.
  let interval: Double
  private var scales: [LinearScale] = []
  /// The time of the next reading.
  private(set) var due: Timestamp
  /// The error of the last reading; nil after a successful one.
  private var failure: IIOError?
  private var failures = 0
  private var backoff = Backoff(floor: 1, base: 1, limit: 60)

  /// The result of `read`.
  enum Outcome {
    case delivered
    /// The driver rejects the reading temporarily, as some do while their buffer runs.
    case refused
    /// The sensor cannot be read. It is read again after a growing interval.
    case failed
  }

  /// The number of failed readings after which a sensor counts as unreadable. A single one is a disturbance on the bus.
  private static let toleratedFailures = 2

  init(_ sensor: IIOInventory.Sensor, interval: Double, from now: Timestamp) {
    self.sensor = sensor
    self.interval = interval
    due = now
  }

  /// The reason why the sensor is unreadable; nil if it is readable.
  var problem: IIOError? { failures > Self.toleratedFailures ? failure : nil }

  /// Reads the sensor; the time stamp is the middle of the reading.
  ///
  /// Throws if the device or the connection is lost. A thermometer, which other sensors do not require, throws nothing.
  mutating func read(from device: borrowing Device, into block: inout ScanBlock) throws(IIOError) -> Outcome {
    let start = Timestamp.now
    // Missed readings are skipped.
    due = max(due.advanced(bySeconds: interval), start)
    var value = Vector3.zero
    do throws(IIOError) {
      if scales.isEmpty { scales = try device.scales(of: sensor) }
      for (axis, identifier) in sensor.channels.prefix(3).enumerated() {
        let scale = scales[axis]
        value[axis] = try device.withChannel(identifier) { channel throws(IIOError) in
          // A raw value without a scale has no unit.
          let isScaled = channel.hasAttribute("scale") || !channel.hasAttribute("input")
          if isScaled, let raw = try channel.number("raw") { return scale(raw) }
          if let finished = try channel.number("input") { return finished * sensor.kind.unitFactor }
          throw IIOError(
            operation: .read, object: "\(device.object) \(identifier)", code: ENODEV,
            reason: "it has neither a buffer nor a raw nor an input attribute")
        }
      }
    } catch {
      if error.code == EBUSY || error.code == EAGAIN { return .refused }
      // On a local bus, a time-out is a disturbance. Attributes of a removed device are missing.
      let isLoss =
        error.isLoss && !(error.code == ETIMEDOUT && device.uri.hasPrefix("local:")) || error.code == ENOENT
      guard sensor.kind == .thermometer || !isLoss else { throw error }
      (failure, failures) = (error, min(failures + 1, Self.toleratedFailures + 1))
      due = max(due, start.advanced(bySeconds: backoff.next()))
      return .failed
    }
    if failure != nil {
      (failure, failures) = (nil, 0)
      backoff.reset()
    }
    let end = Timestamp.now
    block.begin(at: start.advanced(bySeconds: end.seconds(since: start) / 2))
    block.add(sensor.kind, value, mounted: sensor.mountMatrix)
    return .delivered
  }
}

extension [PolledSensor] {
  /// The rates in Hz of the readable sensors.
  var rates: [SensorKind: Double] {
    reduce(into: [:]) { if $1.problem == nil { $0[$1.sensor.kind] = 1 / $1.interval } }
  }

  /// The reason why a sensor other than the thermometer is unreadable; nil if there is none.
  var problem: IIOError? {
    first { $0.sensor.kind != .thermometer && $0.problem != nil }?.problem
  }

  /// The reason why none of the sensors is readable; nil if one is. Thermometers count only among themselves.
  var failureOfAll: IIOError? {
    let counted = filter { $0.sensor.kind != .thermometer }
    let problems = (counted.isEmpty ? self : counted).map(\.problem)
    return problems.contains(nil) ? nil : problems.first ?? nil
  }
}
