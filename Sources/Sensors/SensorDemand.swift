public import Spatial

/// The minimum that the consumers of a sensor require. It flows from the policies up to the source, which
/// translates it into hardware power.
public enum SensorDemand: Hashable, Sendable {
  /// No demand: the hardware can sleep. The source closes a gpsd watch or destroys an IIO buffer.
  case off
  /// On for a part of each period, and off for its remainder. While on, samples arrive at the source's
  /// natural rate.
  case dutyCycle(on: Duration, period: Duration)
  /// Samples with at least this rate, delivered at most `latency` after they were measured. A longer latency
  /// allows deeper hardware buffers and longer sleep of the processor.
  case rate(hertz: Double, latency: Duration)

  /// True unless the demand is `off`.
  public var isOn: Bool { self != .off }

  /// Returns a demand that satisfies both consumers: the faster rate and the shorter latency. A rate takes
  /// precedence over a duty cycle; of two duty cycles, the one with the larger share of on-time applies.
  public func combined(with other: SensorDemand) -> SensorDemand {
    switch (self, other) {
    case (.off, let demand), (let demand, .off): demand
    case (.rate(let a, let first), .rate(let b, let second)):
      .rate(hertz: max(a, b), latency: min(first, second))
    case (.rate, .dutyCycle): self
    case (.dutyCycle, .rate): other
    case (.dutyCycle(let on, let period), .dutyCycle(let otherOn, let otherPeriod)):
      on / period >= otherOn / otherPeriod ? self : other
    }
  }
}

/// Decides which samples of a recording a sensor would have delivered under a given demand, from the samples'
/// times.
///
/// Before the first demand all samples pass. A duty cycle starts with its on phase at the time at which the
/// demand was set. At a rate of 1 Hz and above all samples pass, because a source delivers at its natural
/// rate. At a lower rate a sample passes if the interval since the last passed one is over. A satellite
/// receiver that was off delivers nothing until it has had the time to find its position again.
public struct DemandGate: Sendable, Hashable {
  /// The current demand; nil before the first.
  public private(set) var demand: SensorDemand?
  private let fixDelay: FixDelay?
  private var since: Timestamp?
  private var lastPassed: Timestamp?
  private var offSince: Timestamp?
  private var readyAt: Timestamp?

  /// - Parameter fixDelay: how long a receiver searches after a sleep; nil for sensors that deliver immediately.
  public init(fixDelay: FixDelay? = nil) { self.fixDelay = fixDelay }

  /// Sets the demand from `time` on. If `time` is nil, because there was no sample yet, the demand applies
  /// from the time of the first sample.
  public mutating func setDemand(_ demand: SensorDemand, at time: Timestamp?) {
    guard demand != self.demand else { return }
    if let fixDelay {
      if demand == .off {
        (offSince, readyAt) = (time, nil)
      } else if let slept = offSince, let time {
        readyAt = time.advanced(bySeconds: fixDelay.seconds(afterSleeping: time.seconds(since: slept)))
        offSince = nil
      }
    }
    self.demand = demand
    since = time
    lastPassed = nil
  }

  /// Returns whether the sensor delivers a sample taken at `time`. Call it once for each sample, in order of time.
  public mutating func admits(_ time: Timestamp) -> Bool {
    let start = since ?? time
    since = start
    if let readyAt, time < readyAt { return false }
    switch demand {
    case nil: return true
    case .off: return false
    case .dutyCycle(let on, let period):
      return DutyCycle(on: on, period: period).isOn(
        nanosecondsSinceStart: time.nanoseconds &- start.nanoseconds)
    case .rate(let hertz, _):
      guard hertz < 1, let last = lastPassed else {
        lastPassed = time
        return hertz > 0
      }
      // A sample may be early by half a percent of the interval, because receivers do not report exactly on
      // time.
      guard hertz > 0, time.seconds(since: last) >= 0.995 / hertz else { return false }
      lastPassed = time
      return true
    }
  }
}

/// The phases of `SensorDemand.dutyCycle`, in nanoseconds since it was requested.
public struct DutyCycle: Sendable, Hashable {
  /// The on-time in each period in ns.
  public let on: Int64
  /// The period in ns, at least 1.
  public let period: Int64

  public init(on: Duration, period: Duration) {
    self.on = Self.nanoseconds(on)
    self.period = max(1, Self.nanoseconds(period))
  }

  /// Returns whether the cycle is on. It is never on if `on` is not positive, and always on if `on` fills the
  /// period.
  public func isOn(nanosecondsSinceStart elapsed: Int64) -> Bool {
    on > 0 && (on >= period || max(0, elapsed) % period < on)
  }

  /// Returns the end of the phase at `elapsed`; nil if the phase never ends.
  public func endOfPhase(nanosecondsSinceStart elapsed: Int64) -> Int64? {
    guard on > 0, on < period else { return nil }
    let start = max(0, elapsed) / period * period
    return max(0, elapsed) - start < on ? start + on : start + period
  }

  private static func nanoseconds(_ duration: Duration) -> Int64 {
    let (seconds, attoseconds) = duration.components
    let (whole, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
    // A quarter of the range is 73 years and avoids overflow in sums.
    guard !overflow, whole.magnitude < UInt64(Int64.max / 4) else {
      return seconds < 0 ? 0 : Int64.max / 4
    }
    return max(0, whole + attoseconds / 1_000_000_000)
  }
}

/// Times in s from switching a satellite receiver on to its first fix. They are simulated for recordings,
/// whose receiver was never off.
public struct FixDelay: Sendable, Hashable {
  /// Seconds after a sleep of less than a minute: gpsd has not closed the receiver yet.
  public var brief = 2.0
  /// Seconds after a sleep of 1 to 90 minutes: the receiver has to be opened, and still has the satellites'
  /// orbit data.
  public var warm = 6.0
  /// Seconds after a sleep of 90 minutes or more: the satellites' orbit data have expired and must be
  /// received again. GPS sends them every 30 s.
  public var cold = 35.0

  /// A usual receiver: the values with which `PowerPlanner` starts to learn.
  public init() {}

  /// Returns the seconds to the first fix after the receiver was off for `sleep` seconds.
  public func seconds(afterSleeping sleep: Double) -> Double {
    sleep < 60 ? brief : sleep < 5400 ? warm : cold
  }
}

/// A `DemandGate` for each kind of sensor: removes data without demand from events.
public struct DemandFilter: Sendable {
  private let fixDelay: FixDelay?
  private var gates: [SensorKind: DemandGate] = [:]
  private var lastTimestamp: Timestamp?

  /// - Parameter fixDelay: simulated time to the first fix of a receiver that was off; nil if the events
  ///   already contain this delay.
  public init(fixDelay: FixDelay? = nil) { self.fixDelay = fixDelay }

  /// Sets the demand for one kind, from the time of the last event on.
  public mutating func setDemand(_ demand: SensorDemand, for kind: SensorKind) {
    gates[kind, default: DemandGate(fixDelay: kind == .positioning ? fixDelay : nil)]
      .setDemand(demand, at: lastTimestamp)
  }

  /// Returns the part of an event that is in demand; nil for none. Changes of a source's state and readings of the
  /// CAN bus always pass.
  public mutating func admit(_ event: SensorEvent) -> SensorEvent? {
    if let time = event.timestamp { lastTimestamp = max(time, lastTimestamp ?? time) }
    switch event {
    case .inertial(let block):
      let rest = block.compactMap { admit($0) }
      return rest.isEmpty && !block.isEmpty ? nil : .inertial(rest)
    case .barometer(let block):
      let rest = block.filter { admits(.barometer, at: $0.timestamp) }
      return rest.isEmpty && gates[.barometer] != nil ? nil : .barometer(rest)
    case .position(let block):
      let rest = block.filter { admits(.positioning, at: $0.timestamp) }
      return rest.isEmpty && gates[.positioning] != nil ? nil : .position(rest)
    case .radio(let block):
      let rest = block.compactMap { admit($0) }
      return rest.isEmpty && !block.isEmpty ? nil : .radio(rest)
    case .vehicle, .status: return event
    }
  }

  private mutating func admit(_ scan: InertialScan) -> InertialScan? {
    var scan = scan
    for kind in SensorKind.inertial where scan.contains(kind) && !admits(kind, at: scan.timestamp) {
      scan.remove(kind)
    }
    return scan.isEmpty ? nil : scan
  }

  private mutating func admit(_ scan: RadioScan) -> RadioScan? {
    var scan = scan
    for kind in [SensorKind.wifi, .cellular] where scan.contains(kind) && !admits(kind, at: scan.timestamp) {
      scan.sightings.removeAll { $0.beacon.technology.isCell == (kind == .cellular) }
    }
    return scan.sightings.isEmpty ? nil : scan
  }

  /// Returns whether a sample passes. Every sample of a kind whose demand was never set passes.
  private mutating func admits(_ kind: SensorKind, at time: Timestamp) -> Bool {
    gates[kind]?.admits(time) ?? true
  }
}
