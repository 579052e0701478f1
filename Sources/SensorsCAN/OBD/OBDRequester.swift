internal import Spatial

/// Decides when which OBD-II request is sent. Time comes in; nothing is sent here.
///
/// A request wakes control units, and a parked vehicle's battery pays for it. So nothing is sent onto a bus that is silent, unless
/// the voltage says that the engine charges it. On a bus that is awake it is asked now and then whether the engine runs, ever
/// more rarely while it does not; while it does, or the vehicle moves, each parameter is asked for at its own interval.
struct OBDRequester: Sendable {
  private enum Phase: Hashable, Sendable {
    /// Nothing says that anybody is there.
    case asleep
    /// The bus is awake or charged: asked now and then whether the engine runs.
    case probing
    case asking
  }

  private struct Item: Sendable {
    var parameter: OBDParameter
    var due: Timestamp?
    /// Requests in a row that were not answered.
    var misses = 0
  }

  private let addressing: OBDAddressing
  private var items: [Item]
  private var phase = Phase.asleep
  /// Whether the identification number is still to be asked for.
  private var wantsIdentification: Bool
  private var identificationDue: Timestamp?
  /// The request that is on the way, and when.
  private var outstanding: (index: Int?, at: Timestamp)?
  private var asleepSince: Timestamp?
  private var probeDue: Timestamp?
  private var probeInterval = Self.firstProbe
  /// The probe that is next: engine speed, else the voltage of a vehicle without an engine.
  private var probesVoltage = false
  /// When last something said that the engine runs.
  private var lastRunning: Timestamp?

  /// s that control units may take (P2 of ISO 15765-4 is 0.05, a long answer takes more).
  private static let answerLimit = 0.3
  private static let (firstProbe, longestProbe) = (5.0, 300.0)
  /// s of silence after which a bus that is heard again has woken up.
  private static let longSleep = 60.0
  /// s without a sign of an engine after which it is asked only now and then.
  private static let patience = 30.0
  /// Requests without an answer after which a parameter is asked for rarely, s.
  private static let (mostMisses, rareInterval) = (3, 60.0)
  /// V: above them an alternator or a converter charges a battery of 12 V; one of 24 V has twice as much.
  static let chargingVoltage = 13.2
  private static let doubleBattery = 18.0

  private static func isCharging(_ voltage: Double) -> Bool {
    voltage >= (voltage > doubleBattery ? 2 * chargingVoltage : chargingVoltage)
  }

  /// rpm: below them an engine is being started.
  static let idleSpeed = 300.0

  /// - Parameter paths: the signals that are wanted.
  init(_ addressing: OBDAddressing, paths: Set<String>) {
    self.addressing = addressing
    items = OBDParameter.all.filter { paths.contains($0.path) }.map { Item(parameter: $0) }
    wantsIdentification = paths.contains(VehicleSignal.identification)
  }

  /// Lets time pass.
  /// - Parameters:
  ///   - isBusAwake: whether others than who answers us have sent something lately.
  ///   - voltage: V of the vehicle, where something measures it.
  /// - Returns: what is to be sent now.
  mutating func advance(to now: Timestamp, isBusAwake: Bool, voltage: Double?) -> CANFrame? {
    settle(at: now)
    let isCharging = voltage.map(Self.isCharging) ?? false
    if isCharging { lastRunning = now }
    let runs = lastRunning.map { now.seconds(since: $0) <= Self.patience } ?? false
    let next: Phase = runs ? .asking : isBusAwake ? .probing : .asleep
    if next != phase {
      // A bus that has slept for long and wakes up, or whose engine has stopped, is worth a look soon; one that stirs now and then
      // while it is parked is not.
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

  /// s between two requests now; 0 while many are sent, or none.
  var requestInterval: Double { phase == .probing ? probeInterval : 0 }

  /// Whether an answer is on its way.
  var isWaiting: Bool { outstanding != nil }

  /// When `advance` has something to do; nil while nothing is to be sent.
  var nextDeadline: Timestamp? {
    if let outstanding { return outstanding.at.advanced(bySeconds: Self.answerLimit) }
    switch phase {
    case .asleep: return nil
    case .probing: return probeDue
    case .asking:
      let dues = items.map { $0.due ?? Timestamp(nanoseconds: 0) }
      return (dues + (wantsIdentification ? [identificationDue ?? Timestamp(nanoseconds: 0)] : [])).min()
    }
  }

  /// Learns of an answer.
  mutating func observe(_ answer: OBDAnswer, at time: Timestamp) {
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

  /// Learns that the engine runs from what is broadcast.
  mutating func observeRunning(at time: Timestamp) { lastRunning = time }

  /// Gives up waiting for an answer that does not come.
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
    // Twice as long after each pair.
    if probesVoltage { probeInterval = min(Self.longestProbe, 2 * probeInterval) }
    let identifier = probesVoltage ? OBDParameter.voltage : OBDParameter.engineSpeed
    probesVoltage.toggle()
    outstanding = (nil, now)
    return request([0x01, identifier])
  }

  private mutating func ask(at now: Timestamp) -> CANFrame? {
    if wantsIdentification, identificationDue.map({ now >= $0 }) ?? true {
      identificationDue = now.advanced(bySeconds: Self.rareInterval)
      outstanding = (nil, now)
      return request(OBDAnswer.identificationRequest)
    }
    // The one that has waited for longest.
    let due = items.indices.filter { items[$0].due.map { now >= $0 } ?? true }
    guard let index = due.min(by: { (items[$0].due ?? .distantPast) < (items[$1].due ?? .distantPast) })
    else { return nil }
    items[index].due = now.advanced(bySeconds: items[index].parameter.interval)
    outstanding = (index, now)
    return request([0x01, items[index].parameter.identifier])
  }

  /// A single frame, padded as ISO 15765-4 demands.
  private func request(_ message: [UInt8]) -> CANFrame {
    let data = [UInt8(message.count)] + message
    return CANFrame(
      addressing.request, data: data + [UInt8](repeating: 0xCC, count: 8 - data.count))
  }
}

extension Timestamp {
  fileprivate static let distantPast = Timestamp(nanoseconds: .min)
}
