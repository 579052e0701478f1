package import Spatial

/// Schedules OBD-II requests. The caller provides the time and sends the requests.
///
/// A request wakes control units and discharges a parked vehicle's battery. Therefore nothing is sent on a
/// silent bus, unless the voltage shows that the engine charges the battery. On an active bus, and if the voltage
/// is high but requests remain unanswered, a probe at growing intervals checks whether the engine runs. While it runs, or the vehicle moves, each parameter is
/// requested at its own interval.
package struct OBDRequester: Sendable {
  private enum Phase: Hashable, Sendable {
    /// No sign of activity.
    case asleep
    /// The bus is active or the battery is charged: probes check whether the engine runs.
    case probing
    case asking
  }

  private struct Item: Sendable {
    var parameter: OBDParameter
    var due: Timestamp?
    /// Number of consecutive requests without an answer.
    var misses = 0
  }

  private let addressing: OBDAddressing
  private var items: [Item]
  private var phase = Phase.asleep
  /// True if the identification number must still be requested.
  private var wantsIdentification: Bool
  private var identificationDue: Timestamp?
  /// The pending request and its time.
  private var outstanding: (index: Int?, at: Timestamp)?
  private var asleepSince: Timestamp?
  private var probeDue: Timestamp?
  private var probeInterval = Self.firstProbe
  /// True if the next probe requests the voltage, for a vehicle without an engine, instead of the engine
  /// speed.
  private var probesVoltage = false
  /// Time of the last sign of a running engine.
  private var lastRunning: Timestamp?
  /// Time of the first request since the last answer.
  private var unansweredSince: Timestamp?
  /// Lowest voltage in V of a vehicle that charges its battery but does not answer.
  private var silentVoltage: Double?

  /// Maximum time in s for an answer (P2 of ISO 15765-4 is 0.05, a long answer requires more).
  private static let answerLimit = 0.3
  private static let (firstProbe, longestProbe) = (5.0, 300.0)
  /// Duration in s of a silence after which new traffic counts as a wakeup.
  private static let longSleep = 60.0
  /// Time in s without a sign of an engine after which only probes are sent.
  private static let engineTimeout = 30.0
  /// Number of unanswered requests after which a parameter is requested rarely, at this interval in s.
  private static let (mostMisses, rareInterval) = (3, 60.0)
  /// Time in s without any answer after which a charging voltage is no sign of an engine. Lithium batteries at rest have
  /// 13.2 to 13.4 V, and maintenance chargers more.
  private static let answerTimeout = 60.0
  /// Rise of the voltage in V by which an alternator shows itself nevertheless.
  private static let startRise = 0.4
  /// Voltage in V above which an alternator or a converter charges a 12 V battery; 24 V systems have twice
  /// the value.
  static let chargingVoltage = 13.2
  private static let doubleBattery = 18.0

  private static func isCharging(_ voltage: Double) -> Bool {
    voltage >= (voltage > doubleBattery ? 2 * chargingVoltage : chargingVoltage)
  }

  /// Engine speed in rpm below which the engine is being started.
  static let idleSpeed = 300.0

  /// - Parameter paths: paths of the signals to request, such as `Vehicle.Speed`.
  package init(_ addressing: OBDAddressing, paths: Set<String>) {
    self.addressing = addressing
    items = OBDParameter.all.filter { paths.contains($0.path) }.map { Item(parameter: $0) }
    wantsIdentification = paths.contains(VehicleSignal.identification)
  }

  /// Advances the time.
  /// - Parameters:
  ///   - isBusAwake: true if the bus has recently carried frames other than this device's requests and their
  ///     answers.
  ///   - voltage: voltage of the vehicle in V; nil if not measured.
  /// - Returns: the frame to send now; nil for none.
  package mutating func advance(to now: Timestamp, isBusAwake: Bool, voltage: Double?) -> CANFrame? {
    settle(at: now)
    let isCharging = observe(voltage, at: now)
    let runs = lastRunning.map { now.seconds(since: $0) <= Self.engineTimeout } ?? false
    let next: Phase = runs ? .asking : isBusAwake || isCharging ? .probing : .asleep
    if next != phase {
      // The bus is probed soon if it wakes after a long sleep or if the engine has stopped. Occasional
      // traffic of a parked vehicle does not count as waking.
      let hasSlept = phase == .asleep && asleepSince.map { now.seconds(since: $0) >= Self.longSleep } ?? true
      if phase == .asking || hasSlept { (probeInterval, probeDue) = (Self.firstProbe, now) }
      if next == .asleep { asleepSince = now }
      phase = next
    }
    guard outstanding == nil else { return nil }
    switch phase {
    case .asleep: return nil
    case .probing: return probe(at: now)
    case .asking: return ask(at: now)
    }
  }

  /// Returns whether the voltage is that of a battery that is being charged.
  private mutating func observe(_ voltage: Double?, at now: Timestamp) -> Bool {
    guard let voltage, Self.isCharging(voltage) else {
      (silentVoltage, unansweredSince) = (nil, nil)
      return false
    }
    if let unansweredSince, now.seconds(since: unansweredSince) > Self.answerTimeout {
      let lowest = min(silentVoltage ?? voltage, voltage)
      silentVoltage = lowest
      guard voltage >= lowest + Self.startRise else { return true }
      self.unansweredSince = nil
    }
    silentVoltage = nil
    lastRunning = now
    return true
  }

  /// Current interval in s between probes. 0 if no requests are sent, and while parameters are requested,
  /// which is much more often.
  package var requestInterval: Double { phase == .probing ? probeInterval : 0 }

  /// True if an answer is pending.
  var isWaiting: Bool { outstanding != nil }

  /// The next time at which `advance` must be called; nil while nothing is sent.
  package var nextDeadline: Timestamp? {
    if let outstanding { return outstanding.at.advanced(bySeconds: Self.answerLimit) }
    switch phase {
    case .asleep: return nil
    case .probing: return probeDue
    case .asking:
      let dues = items.map { $0.due ?? Timestamp(nanoseconds: 0) }
      return (dues + (wantsIdentification ? [identificationDue ?? Timestamp(nanoseconds: 0)] : [])).min()
    }
  }

  /// Processes an answer.
  package mutating func observe(_ answer: OBDAnswer, at time: Timestamp) {
    unansweredSince = nil
    switch answer {
    case .value(let parameter, let value):
      switch parameter.identifier {
      case OBDParameter.engineSpeed where value >= Self.idleSpeed: lastRunning = time
      case OBDParameter.voltage where Self.isCharging(value): lastRunning = time
      default: if parameter.path == VehicleSignal.speed, value > 0 { lastRunning = time }
      }
      if let index = items.firstIndex(where: { $0.parameter.identifier == parameter.identifier }) {
        items[index].misses = 0
        if outstanding?.index == index { outstanding = nil }
      } else if outstanding?.index == nil {
        outstanding = nil
      }
    case .identification:
      wantsIdentification = false
      outstanding = nil
    case .refusal: outstanding = nil
    }
  }

  /// Records from broadcast data that the engine runs.
  package mutating func observeRunning(at time: Timestamp) { lastRunning = time }

  /// Ends the wait for a missing answer.
  private mutating func settle(at now: Timestamp) {
    guard let request = outstanding, now.seconds(since: request.at) >= Self.answerLimit else { return }
    outstanding = nil
    guard let index = request.index else { return }
    items[index].misses = min(Self.mostMisses, items[index].misses + 1)
    if items[index].misses == Self.mostMisses {
      items[index].due = now.advanced(bySeconds: Self.rareInterval)
    }
  }

  private mutating func probe(at now: Timestamp) -> CANFrame? {
    guard probeDue.map({ now >= $0 }) ?? true else { return nil }
    probeDue = now.advanced(bySeconds: probeInterval)
    // Probes come in pairs, for engine speed and for voltage. The interval doubles after each pair.
    if probesVoltage { probeInterval = min(Self.longestProbe, 2 * probeInterval) }
    let identifier = probesVoltage ? OBDParameter.voltage : OBDParameter.engineSpeed
    probesVoltage.toggle()
    outstanding = (nil, now)
    return request([0x01, identifier], at: now)
  }

  private mutating func ask(at now: Timestamp) -> CANFrame? {
    if wantsIdentification, identificationDue.map({ now >= $0 }) ?? true {
      identificationDue = now.advanced(bySeconds: Self.rareInterval)
      outstanding = (nil, now)
      return request(OBDAnswer.identificationRequest, at: now)
    }
    // Requests the parameter that has been due for the longest time.
    let due = items.indices.filter { items[$0].due.map { now >= $0 } ?? true }
    guard let index = due.min(by: { (items[$0].due ?? .distantPast) < (items[$1].due ?? .distantPast) })
    else { return nil }
    items[index].due = now.advanced(bySeconds: items[index].parameter.interval)
    outstanding = (index, now)
    return request([0x01, items[index].parameter.identifier], at: now)
  }

  /// Returns a single frame, padded as ISO 15765-4 requires.
  private mutating func request(_ message: [UInt8], at now: Timestamp) -> CANFrame {
    unansweredSince = unansweredSince ?? now
    let data = [UInt8(message.count)] + message
    return CANFrame(
      addressing.request, data: data + [UInt8](repeating: 0xCC, count: 8 - data.count))
  }
}

extension Timestamp {
  fileprivate static let distantPast = Timestamp(nanoseconds: .min)
}
