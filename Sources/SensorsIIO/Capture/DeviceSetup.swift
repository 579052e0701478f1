internal import Bytes
internal import Glibc
internal import Platform
internal import Sensors

/// The preparations on a device before it samples.
extension Device {
  /// Sets the frequency of each kind to the nearest that the hardware offers, at least the wanted one where it can.
  ///
  /// A frequency that cannot be set, for want of an attribute or of permission, is left as it is.
  /// - Returns: Hz that the device then says it runs at; the wanted ones where it does not say.
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

  /// How raw values of a kind's channels become quantities; nil where the driver gives finished values only.
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

  /// Makes the driver stamp samples with a clock that is never stepped, and says which it then uses.
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

  /// Gives the device a trigger where its buffer needs one: the configured, else the device's own, else a timer.
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
      // Without any trigger to give, one that is set may still serve; otherwise the buffer will say what it lacks.
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
  /// A timer trigger has a frequency of its own; others have none to set.
  fileprivate func setTriggerFrequency(_ trigger: String, hertz: Double) throws(IIOError) {
    _ = try withDevice(trigger) { trigger throws(IIOError) in try trigger.setOwnFrequency(hertz) }
  }
}

extension Device {
  /// Sets the device's frequency where it has one and lets it be set; says whether it did.
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
  /// Whether the device or the way to it is gone, so that nothing helps but to begin anew.
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
