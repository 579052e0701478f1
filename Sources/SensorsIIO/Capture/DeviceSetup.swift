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
  /// - Returns: the frequencies in Hz that the device then reports, or the requested ones if it reports none.
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
      var reported: Double?
      do throws(IIOError) {
        reported = Double(try rateAttribute("sampling_frequency", channel: first) ?? "")
      } catch {
        guard !error.isLoss else { throw error }
      }
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
    do throws(IIOError) { return try attribute("current_timestamp_clock") } catch {
      guard !error.isLoss else { throw error }
      return nil
    }
  }

  /// Assigns a trigger if the device's buffer needs one: the configured one, the device's own, or a timer.
  ///
  /// The trigger of another chip is not used: most drivers refuse it, and the others would capture at that
  /// chip's rate. A `sysfs` trigger fires only when a program writes to it.
  /// - Returns: `.missing` if there is none, or the kernel refuses all.
  func assignTrigger(
    in context: borrowing Context, configuration: IIOConfiguration
  ) throws(IIOError) -> CaptureTrigger {
    let state = triggerState
    guard state != .notNeeded else { return .notNeeded }
    let triggers = try context.triggerNames()
    if configuration.trigger == nil, case .set(let present) = state, triggers.contains(present) {
      return try context.isTimer(present) ? .timer(present) : .own(present)
    }
    let number = identifier.split(separator: "e").last.flatMap { Int($0) }
    let own = name.map { name in [number.map { "\(name)-dev\($0)" }, "\(name)-trigger"].compactMap { $0 } }
    var candidates = ([configuration.trigger].compactMap { $0 } + (own ?? [])).filter(triggers.contains)
    for trigger in triggers where !candidates.contains(trigger) {
      if try context.isTimer(trigger) { candidates.append(trigger) }
    }
    for candidate in candidates {
      do throws(IIOError) {
        if state != .set(candidate) {
          try context.withDevice(candidate) { trigger throws(IIOError) in try setTrigger(trigger) }
        }
        return try context.isTimer(candidate) ? .timer(candidate) : .own(candidate)
      } catch {
        guard !error.isLoss else { throw error }
      }
    }
    return .missing
  }
}

/// The trigger of a device's capture.
enum CaptureTrigger: Hashable, Sendable {
  /// The device fills its buffer automatically.
  case notNeeded
  /// No usable trigger. A few devices capture without one; the kernel refuses the capture of the others.
  case missing
  /// The device's interrupt, or the configured trigger.
  case own(String)
  /// A timer, which other devices may share.
  case timer(String)

  var name: String? {
    switch self {
    case .notNeeded, .missing: nil
    case .own(let name), .timer(let name): name
    }
  }
}

/// The demands on the timer triggers of one context. A timer that several devices share runs at the highest
/// demanded rate.
package final class TimerDemands: Sendable {
  /// The rates in Hz by timer and device.
  private let demands = Locked<[String: [String: Double]]>([:])

  package init() {}

  /// Sets the rate that a device demands from a timer.
  ///
  /// - Returns: the rate at which the timer must run, and whether this differs from before.
  package func set(_ hertz: Double, from device: String, on timer: String) -> (hertz: Double, isNew: Bool) {
    demands.withLock { demands in
      let before = demands[timer]?.values.max()
      demands[timer, default: [:]][device] = hertz
      let after = demands[timer]?.values.max() ?? hertz
      return (after, after != before)
    }
  }

  /// Removes the demands of a device. Returns whether another device may use a timer at another rate.
  package func release(_ device: String) -> Bool {
    demands.withLock { demands in
      var isNew = false
      for (timer, rates) in demands {
        guard let own = rates[device] else { continue }
        demands[timer]?[device] = nil
        if let rest = demands[timer]?.values.max(), rest < own { isNew = true }
      }
      return isNew
    }
  }

  /// Returns the rate in Hz at which a timer must run; nil without a demand.
  package func rate(of timer: String) -> Double? { demands.withLock { $0[timer]?.values.max() } }

  /// Returns whether a device other than this one uses a timer.
  package func isUsed(_ timer: String, besides device: String) -> Bool {
    demands.withLock { $0[timer]?.contains { $0.key != device } ?? false }
  }
}

extension Context {
  /// Sets the frequency of a timer trigger.
  func setTimer(_ trigger: String, hertz: Double) throws(IIOError) {
    _ = try withDevice(trigger) { trigger throws(IIOError) in try trigger.setOwnFrequency(hertz) }
  }

  /// Returns the names of the triggers that existed when the context was opened.
  fileprivate func triggerNames() throws(IIOError) -> [String] {
    var names: [String] = []
    for index in 0..<deviceCount {
      let name = try withDevice(at: index) { device throws(IIOError) in device.isTrigger ? device.name : nil }
      if let name { names.append(name) }
    }
    return names
  }

  /// Returns whether a trigger is a timer. Only timers have a frequency.
  fileprivate func isTimer(_ trigger: String) throws(IIOError) -> Bool {
    try withDevice(trigger) { trigger throws(IIOError) in trigger.hasAttribute("sampling_frequency") }
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
