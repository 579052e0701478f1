internal import Bytes
internal import Glibc
internal import Platform
internal import Sensors

/// The configuration of a device before a capture.
extension Device {
  /// Ends a local capture that a killed process left running. The kernel refuses settings during a capture.
  ///
  /// A program that captures has the device's node open, and its capture is not ended.
  func endAbandonedCapture() throws(IIOError) {
    let descriptor = unsafe open("/dev/\(identifier)", O_RDWR | O_NONBLOCK | O_CLOEXEC)
    guard descriptor >= 0 else { throw IIOError(operation: .startBuffer, object: object, errno: errno) }
    close(descriptor)
    try disableBuffer()
  }

  /// Sets the frequency of each kind to the nearest that the hardware supports, if possible at least the
  /// requested one.
  ///
  /// A frequency without a writable attribute is left unchanged.
  /// - Returns: the frequencies in Hz that the device then reports, or the requested ones.
  func setFrequency(_ hertz: Double, of sensors: [IIOInventory.Sensor]) throws(IIOError) -> [SensorKind:
    Double]
  {
    var rates: [SensorKind: Double] = [:]
    for sensor in sensors {
      let first = sensor.channels[0]
      let text = SamplingFrequencies.text(sensor.frequencies.nearest(to: hertz))
      do throws(IIOError) {
        let isOwn = try withChannel(first) { channel throws(IIOError) in
          try channel.setAttribute("sampling_frequency", to: text)
        }
        if !isOwn { try setAttribute("sampling_frequency", to: text) }
      } catch {
        guard !error.isLoss else { throw error }
      }
      let reported = Double(try rateAttribute("sampling_frequency", channel: first) ?? "")
      rates[sensor.kind] = reported.flatMap { $0 > 0 ? $0 : nil } ?? hertz
    }
    return rates
  }

  /// Returns the conversions from raw values; nil if the driver provides only processed values.
  func scales(of sensor: IIOInventory.Sensor) throws(IIOError) -> [LinearScale] {
    var scales: [LinearScale] = []
    for identifier in sensor.channels {
      let scale = try withChannel(identifier) { channel throws(IIOError) in
        LinearScale(
          offset: try channel.number("offset") ?? 0,
          scale: (try channel.number("scale") ?? 1) * sensor.kind.unitFactor)
      }
      scales.append(scale)
    }
    return scales
  }

  /// Selects a time stamp clock that never steps, and returns the clock in use.
  func chooseTimestampClock() throws(IIOError) -> String? {
    for clock in ["boottime", "monotonic"] {
      do throws(IIOError) {
        guard try setAttribute("current_timestamp_clock", to: clock) else { return nil }
        break
      } catch {
        guard !error.isLoss else { throw error }
      }
    }
    return try attribute("current_timestamp_clock")
  }

  /// Assigns a trigger if the device's buffer needs one: the configured one, the device's own, or a timer.
  func assignTrigger(
    in context: borrowing Context, inventory triggers: [String], configuration: IIOConfiguration,
    hertz: Double
  ) throws(IIOError) {
    let state = triggerState
    guard state != .notNeeded else { return }
    let number = identifier.split(separator: "e").last.flatMap { Int($0) }
    let own = name.flatMap { name in number.map { "\(name)-dev\($0)" } }
    let candidates =
      [configuration.trigger, own].compactMap { $0 } + triggers.filter { !$0.contains(text: "-dev") }
    guard let choice = candidates.first(where: { triggers.contains($0) }) else {
      // No known trigger is available. A trigger that is already assigned may still work; otherwise starting
      // the buffer reports what is missing.
      return
    }
    if configuration.trigger == nil, case .set(let present) = state, triggers.contains(present) {
      return try context.setTriggerFrequency(present, hertz: hertz)
    }
    try context.setTriggerFrequency(choice, hertz: hertz)
    guard state != .set(choice) else { return }
    try context.withDevice(choice) { trigger throws(IIOError) in try setTrigger(trigger) }
  }
}

extension Context {
  /// Sets the frequency of a timer trigger; other triggers have none.
  fileprivate func setTriggerFrequency(_ trigger: String, hertz: Double) throws(IIOError) {
    _ = try withDevice(trigger) { trigger throws(IIOError) in try trigger.setOwnFrequency(hertz) }
  }
}

extension Device {
  /// Sets the device's own frequency, and returns whether it has a writable one.
  fileprivate func setOwnFrequency(_ hertz: Double) throws(IIOError) -> Bool {
    do throws(IIOError) {
      return try setAttribute("sampling_frequency", to: SamplingFrequencies.text(hertz))
    } catch {
      guard !error.isLoss else { throw error }
      return false
    }
  }
}

extension IIOError {
  /// True if the device or the connection is lost and must be opened again.
  var isLoss: Bool {
    switch code {
    case ENODEV, ENXIO, EPIPE, ECONNRESET, ECONNREFUSED, ENOTCONN, EBADF, ETIMEDOUT, EHOSTUNREACH,
      ENETUNREACH,
      ESHUTDOWN, ECONNABORTED:
      true
    default: false
    }
  }
}
