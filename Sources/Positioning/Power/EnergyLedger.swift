public import Sensors
public import Spatial
public import VehicleData

/// Powered time, wakeups, bytes and bursts of each part of the device, and the resulting energy by the given
/// figures.
///
/// A sensor is on while it is in demand and its source reports it as present. It stays on until its source
/// reports that it has stopped, because a source that reads blocks first finishes the current block. A receiver
/// counts as present until its source reports it as missing, because it is silent while it searches for
/// satellites. Use of the
/// processor and the radio is measured outside; without a measurement, the use of the processor is estimated
/// from the demands, the fixes and the messages.
public struct EnergyLedger: Sendable {
  /// Measured use of the processor since the start, without joules; nil if it is not measured.
  public var processor: EnergyAccount?
  /// Use of the radio that carries messages since the start, without joules.
  public var radio = EnergyAccount(bytes: 0)

  private let figures: EnergyFigures
  /// Use of Wi-Fi and of cells; empty until their first scan.
  private var scans: [EnergyComponent: EnergyAccount] = [:]
  private var meters: [EnergyComponent: OnTimeMeter] = [:]
  private var wakeups = WakeupModel()
  private var demands: [SensorKind: SensorDemand] = [:]
  private var missing: [String: Set<SensorKind>] = [:]
  /// Kinds of sensors that a source reports as being sampled.
  private var sampled: Set<SensorKind> = []
  private var present: Set<SensorKind>

  /// - Parameter hasReceiver: false if no source could ever report the receiver as missing.
  public init(figures: EnergyFigures, hasReceiver: Bool = true) {
    self.figures = figures
    present = hasReceiver ? [.positioning] : []
    for component in EnergyComponent.allCases
    where ![.processor, .radio, .wifi, .cellular].contains(component) {
      meters[component] = OnTimeMeter(linger: component == .receiver ? 0 : figures.sensorLinger)
    }
  }

  /// Records the demands that apply from `time` on. Kinds missing in `demands` are off.
  public mutating func record(_ demands: [SensorKind: SensorDemand], at time: Timestamp) {
    self.demands = demands.filter(\.value.isOn)
    settle(at: time)
  }

  /// Counts fixes of the receiver.
  public mutating func observe(fixes: Int) { wakeups.observe(fixes: fixes) }

  /// Counts messages that are sent.
  public mutating func observe(messages: Int) { wakeups.observe(messages: messages) }

  /// Updates whether a source's sensors are missing or present.
  public mutating func observe(_ status: SourceStatus) {
    // Sensors are removed by kind, because a source that returns may have another name.
    sampled.subtract(status.kinds)
    switch status.state {
    case .unavailable: missing[status.source] = status.kinds
    case .active(let rates):
      sampled.formUnion(Self.blockwise.intersection(rates.keys))
      present.formUnion(status.kinds)
      for source in missing.keys { missing[source]?.subtract(status.kinds) }
    case .idle, .finished: missing[status.source] = nil
    }
    settle(at: status.timestamp)
  }

  /// Adds the energy of scans, including interrupted ones. Each scan counts as a start, with the duration
  /// reported by its source, otherwise the duration in the figures. A reported duration of zero, from a
  /// source that did not use the radio, is not counted.
  public mutating func observe(_ block: [RadioScan]) {
    for scan in block {
      for (kind, component) in [(SensorKind.wifi, EnergyComponent.wifi), (.cellular, .cellular)]
      where scan.contains(kind) {
        let seconds = scan.duration ?? figures.scanDuration[component] ?? 0
        guard seconds > 0 || scan.duration == nil else { continue }
        scans[component, default: EnergyAccount()].seconds += seconds
        scans[component, default: EnergyAccount()].starts += 1
      }
    }
  }

  private mutating func settle(at time: Timestamp) {
    let absent = missing.values.reduce(into: Set<SensorKind>()) { $0.formUnion($1) }
    let running = demands.filter { present.contains($0.key) && !absent.contains($0.key) }
    for kind in SensorKind.allCases {
      guard let component = EnergyComponent(kind) else { continue }
      let isStopping = sampled.contains(kind) && !absent.contains(kind)
      meters[component]?.set(running[kind] != nil || isStopping, at: time)
    }
    wakeups.record(running.filter { Self.blockwise.contains($0.key) }.values, at: time)
  }

  /// Kinds of sensors that are read in blocks.
  private static let blockwise = Set(SensorKind.inertial + [.barometer])

  /// Returns the use of each part until `time`. Wi-Fi and cells are listed after their first scan.
  public func accounts(at time: Timestamp) -> [EnergyComponent: EnergyAccount] {
    var accounts: [EnergyComponent: EnergyAccount] = [:]
    for (component, meter) in meters {
      let seconds = meter.total(at: time)
      accounts[component] = EnergyAccount(
        seconds: seconds, starts: meter.starts, joules: seconds * power(component))
    }
    for (component, account) in scans {
      accounts[component] = account
      accounts[component]?.joules = account.seconds * power(component)
    }
    var (processor, radio) = (processor ?? wakeups.account(at: time), radio)
    processor.joules = processor.seconds * power(.processor) + Double(processor.starts) * figures.wakeup
    let bytes = radio.bytes ?? 0
    radio.bytes = bytes
    radio.joules =
      radio.seconds * power(.radio) + Double(radio.starts) * figures.burst + Double(bytes) * figures.byte
    (accounts[.processor], accounts[.radio]) = (processor, radio)
    return accounts
  }

  private func power(_ component: EnergyComponent) -> Double { figures.power[component] ?? 0 }
}

extension EnergyComponent {
  /// Creates the component of a kind of sensor; nil for a thermometer, which is part of another chip.
  init?(_ kind: SensorKind) { self.init(rawValue: kind == .positioning ? "receiver" : kind.rawValue) }
}

/// Adds up the powered time of a component, and the number of starts.
public struct OnTimeMeter: Hashable, Sendable {
  /// Time in s for which the power stays on after the last demand.
  public let linger: Double
  /// Number of times that the power was switched on.
  public private(set) var starts = 0

  private var seconds = 0.0
  private var onSince: Timestamp?
  private var offSince: Timestamp?

  public init(linger: Double = 0) {
    self.linger = max(0, linger)
  }

  /// Sets whether power is required from `time` on; repetitions have no effect.
  public mutating func set(_ isOn: Bool, at time: Timestamp) {
    guard isOn != (onSince != nil) else { return }
    if isOn {
      let after = lingered(until: time)
      seconds += after
      // If power is required again before `linger` has passed, it was never off.
      if offSince == nil || after >= linger { starts += 1 }
      (onSince, offSince) = (time, nil)
    } else {
      seconds += running(until: time)
      (onSince, offSince) = (nil, time)
    }
  }

  /// Returns the powered time in s until `time`.
  public func total(at time: Timestamp) -> Double {
    seconds + running(until: time) + lingered(until: time)
  }

  private func running(until time: Timestamp) -> Double {
    onSince.map { max(0, time.seconds(since: $0)) } ?? 0
  }

  private func lingered(until time: Timestamp) -> Double {
    offSince.map { min(linger, max(0, time.seconds(since: $0))) } ?? 0
  }
}

/// Power and energy of the parts of the device. `Config/odograph.toml` names the source of each default.
public struct EnergyFigures: Hashable, Sendable {
  /// Power in W of each component while it is on.
  public var power: [EnergyComponent: Double]
  /// Duration in s of a scan whose source does not report it.
  public var scanDuration: [EnergyComponent: Double]
  /// Energy in J of each wakeup of the processor.
  public var wakeup: Double
  /// Energy in J of each wakeup of the radio, in addition to its powered time.
  public var burst: Double
  /// Energy in J of each byte, sent or received.
  public var byte: Double
  /// Time in s for which the kernel leaves an inertial sensor powered after its last user has closed it.
  public var sensorLinger: Double

  public init(
    power: [EnergyComponent: Double] = [:], scanDuration: [EnergyComponent: Double] = [:],
    wakeup: Double = 0, burst: Double = 0, byte: Double = 0, sensorLinger: Double = 0
  ) {
    self.power = power
    self.scanDuration = scanDuration
    self.wakeup = wakeup
    self.burst = burst
    self.byte = byte
    self.sensorLinger = sensorLinger
  }
}
