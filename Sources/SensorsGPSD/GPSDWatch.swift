internal import Platform
internal import Sensors

/// Decides when to connect to gpsd and which states to report. Pure: the caller provides all times.
struct GPSDWatch: Sendable {
  /// An input of the state machine.
  enum Event: Equatable {
    /// The demand has changed.
    case demand(SensorDemand)
    /// The connection is established and reports were requested.
    case connected
    /// A connection attempt failed, or a connection was lost.
    case disconnected(GPSDError.Kind, reason: String)
    /// gpsd listed all its receivers.
    case listed(paths: [String])
    /// gpsd refused a request.
    case refused(message: String)
    /// A receiver reported (TPV). A repetition of its previous report is no sign of life.
    case reported(device: String?, isRepeated: Bool = false)
    /// gpsd closed a receiver: it was unplugged or failed.
    case deviceClosed(path: String)
    /// The deadline has passed.
    case tick
  }

  /// An action to execute, in order.
  enum Action: Equatable {
    /// Connect and request reports; answer with `connected` or `disconnected`.
    case connect
    /// Close the connection.
    case disconnect
    case report(SourceStatus.State)
  }

  private enum State: Equatable {
    /// The state without demand.
    case idle
    /// The state in the off phase of a duty cycle.
    case resting
    /// The state while the answer to `connect` is pending.
    case connecting
    /// The state with an established connection.
    case watching(since: MonotonicTime, lastReport: MonotonicTime)
    /// The state between two connection attempts.
    case waiting(until: MonotonicTime)
  }

  /// The cause of an outage. It is reported when it changes, not for each attempt.
  private enum Cause: Equatable {
    case connection(GPSDError.Kind)
    /// gpsd does not have the receiver, with the reason.
    case absence(String)
    /// The receiver does not report, repeats one report, or gpsd has closed it.
    case silence
  }

  private enum ReportedState: Equatable {
    case nothing, idle, active
    case unavailable(Cause)
  }

  /// Time in s without a new report after which a receiver counts as lost. The connection is then renewed,
  /// because gpsd tries to open a receiver at the start of a watch.
  static let silenceLimit = 15.0
  /// Minimum duration in s of a connection that resets the count of failures.
  private static let heldLongEnough = 5.0

  private let source: String
  private let device: String?
  private var demand = SensorDemand.off
  private var demandedAt = MonotonicTime.start
  private var state = State.idle
  private var reported = ReportedState.nothing
  private var lastReporter: String?
  /// True if the connection delivers only repetitions of the last report.
  private var isRepeating = false
  /// Paths of the receivers of the connected gpsd; nil until it has listed them.
  private var paths: [String]?
  /// The last error message of the connected gpsd; nil if it sent none.
  private var refusal: String?
  private var backoff: Backoff

  /// - Parameters:
  ///   - source: name of the source, used in the text of `unavailable`.
  ///   - device: path of the only receiver to use; nil for all.
  init(source: String, device: String?, backoff: Backoff = Backoff(floor: 0.2, base: 0.5, limit: 30)) {
    self.source = source
    self.device = device
    self.backoff = backoff
  }

  /// True if a connection is established.
  var isWatching: Bool { if case .watching = state { true } else { false } }

  /// True if a receiver delivers reports.
  var isActive: Bool { reported == .active }

  /// Returns the time of the next `tick`; nil if only an event can change anything.
  func deadline(at now: MonotonicTime) -> MonotonicTime? {
    let phaseEnd = cycle?.endOfPhase(nanosecondsSinceStart: elapsed(at: now)).map {
      MonotonicTime(nanoseconds: $0 + demandedAt.nanoseconds)
    }
    let own: MonotonicTime? =
      switch state {
      case .idle, .resting, .connecting: nil
      case .watching(_, let lastReport): lastReport.advanced(bySeconds: Self.silenceLimit)
      case .waiting(let until): until
      }
    return switch (own, phaseEnd) {
    case (let own?, let phaseEnd?): min(own, phaseEnd)
    case (let own, let phaseEnd): own ?? phaseEnd
    }
  }

  /// Processes an event at `now` and returns the actions.
  mutating func handle(
    _ event: Event, at now: MonotonicTime, using generator: inout some RandomNumberGenerator
  ) -> [Action] {
    switch event {
    case .demand(let demand):
      if demand != self.demand { (self.demand, demandedAt) = (demand, now) }
      // A change of the demand cancels a connection attempt, so the attempt must be restarted.
      return settle(at: now, restarting: state == .connecting)
    case .tick:
      if case .watching(_, let lastReport) = state, isWanted(at: now),
        now >= lastReport.advanced(bySeconds: Self.silenceLimit)
      {
        return giveUp(at: now, using: &generator)
      }
      return settle(at: now, restarting: false)
    case .connected:
      state = .watching(since: now, lastReport: now)
      (paths, refusal, isRepeating) = (nil, nil, false)
      return settle(at: now, restarting: false)
    case .disconnected(let kind, let reason):
      guard isWanted(at: now) else { return settle(at: now, restarting: false, isConnected: false) }
      return retry(.connection(kind), reason, at: now, using: &generator)
    case .listed(let paths):
      self.paths = paths
      return []
    case .refused(let message):
      refusal = message
      // gpsd does not watch a receiver that it gets later, so the request must be repeated.
      guard case .watching = state, isWanted(at: now), let device, paths?.contains(device) == false else {
        return []
      }
      return giveUp(at: now, using: &generator)
    case .reported(let device, let isRepeated):
      guard case .watching(let since, _) = state else { return [] }
      isRepeating = isRepeated
      if isRepeated { return settle(at: now, restarting: false) }
      lastReporter = device
      // gpsd announces a receiver that is connected later without a new list.
      paths = nil
      state = .watching(since: since, lastReport: now)
      if now >= since.advanced(bySeconds: Self.heldLongEnough) { backoff.reset() }
      return report(.active, .active(rates: [:])) + settle(at: now, restarting: false)
    case .deviceClosed(let path):
      // Only the loss of the receiver that reported last is reported, because other receivers may continue.
      guard path == device ?? lastReporter else { return [] }
      return report(
        .unavailable(.silence),
        .unavailable(reason: "\(source) lost the receiver \(path); check that it is plugged in"))
    }
  }

  private var cycle: DutyCycle? {
    guard case .dutyCycle(let on, let period) = demand else { return nil }
    return DutyCycle(on: on, period: period)
  }

  private var isOff: Bool {
    if let cycle { return cycle.on <= 0 }
    if case .rate(let hertz, _) = demand { return !(hertz > 0) }
    return demand == .off
  }

  private func isWanted(at now: MonotonicTime) -> Bool {
    !isOff && cycle?.isOn(nanosecondsSinceStart: elapsed(at: now)) ?? true
  }

  /// Returns the nanoseconds since the last change of the demand.
  private func elapsed(at now: MonotonicTime) -> Int64 {
    now.nanoseconds - demandedAt.nanoseconds
  }

  /// Adapts the state to the current demand.
  private mutating func settle(at now: MonotonicTime, restarting: Bool, isConnected: Bool = true) -> [Action]
  {
    if isWanted(at: now) {
      switch state {
      case .idle, .resting: break
      case .connecting: if !restarting { return [] }
      case .watching: return []
      case .waiting(let until): if now < until { return [] }
      }
      state = .connecting
      return [.connect]
    }
    var actions: [Action] = []
    if case .watching = state, isConnected { actions.append(.disconnect) }
    state = isOff ? .idle : .resting
    // In the off phase of a duty cycle the source is still in use, so no state is reported.
    return isOff ? actions + report(.idle, .idle) : actions
  }

  /// Ends a connection without reports.
  private mutating func giveUp(
    at now: MonotonicTime, using generator: inout some RandomNumberGenerator
  ) -> [Action] {
    if let absence = paths.flatMap({ Self.absence(of: device, in: $0) }) {
      return [.disconnect] + retry(.absence(absence), "\(source) \(absence)", at: now, using: &generator)
    }
    let receiver = device ?? lastReporter ?? "a receiver"
    let reason =
      isRepeating
      ? "\(source) has had the same report from \(receiver) for \(Int(Self.silenceLimit)) s; restart the receiver"
      : "\(source) has had no report from \(device ?? "a receiver") for \(Int(Self.silenceLimit)) s; "
        + "check that the receiver is plugged in" + (refusal.map { "; gpsd reports: \($0)" } ?? "")
    return [.disconnect] + retry(.silence, reason, at: now, using: &generator)
  }

  /// Returns the reason why gpsd has no reports of a receiver, with the remedy, after gpsd's name; nil if gpsd has
  /// the receiver.
  /// - Parameters:
  ///   - device: path of the only receiver to use; nil for any.
  ///   - paths: the receivers of gpsd.
  static func absence(of device: String?, in paths: [String]) -> String? {
    if paths.isEmpty { return "has no receiver; plug it in, or name it in DEVICES of /etc/default/gpsd" }
    guard let device, !paths.contains(device) else { return nil }
    return "has no receiver \(device); set gpsd.device to one of: \(paths.joined(separator: ", "))"
  }

  private mutating func retry(
    _ cause: Cause, _ reason: String, at now: MonotonicTime, using generator: inout some RandomNumberGenerator
  ) -> [Action] {
    state = .waiting(until: now.advanced(bySeconds: backoff.next(using: &generator)))
    return report(.unavailable(cause), .unavailable(reason: reason))
  }

  /// Reports a state unless it was the last one reported.
  private mutating func report(_ reported: ReportedState, _ status: SourceStatus.State) -> [Action] {
    guard reported != self.reported else { return [] }
    self.reported = reported
    return [.report(status)]
  }
}
