public import Sensors
public import Spatial

/// Decodes readings from frames: by a DBC file, by SAE J1939 and from answers to OBD-II requests. Time comes
/// with the frames; the same decoder is used for a live bus and for logs.
public struct CANDecoder: Sendable {
  /// Filters for the required frames.
  public let filters: [CANFilter]
  /// The paths that can be provided.
  public let paths: Set<String>
  /// Unreadable statements of the DBC file, none of which is required.
  public let skipped: [DBCSkip]

  private let bindings: [CANFrame.Identifier: [SignalBinding]]
  /// Bindings of J1939 signals by parameter group, for any sender.
  private let groupBindings: [UInt32: [SignalBinding]]
  private let parameters: [UInt32: [J1939Parameter]]
  private var broadcast = J1939Broadcast(groups: [J1939Parameter.identification])
  private let diagnostics: OBDAddressing?
  private let diagnosticPaths: Set<String>
  private var receiver = ISOTPReceiver()
  private var derived: DerivedSignals
  private let wanted: Set<String>
  private var thinning = ReadingThinning()

  /// - Parameters:
  ///   - configuration: the requested signals.
  ///   - database: content of the DBC file; nil without one.
  /// - Throws: `SourceError` for a signal that is not in the file, or that no protocol provides.
  public init(_ configuration: CANConfiguration, database: DBCDatabase?) throws(SourceError) {
    let plan = try SignalPlan(configuration, database: database)
    skipped = database?.skipped ?? []
    (bindings, groupBindings) = (plan.bindings, plan.groupBindings)
    (parameters, diagnostics) = (plan.parameters, plan.diagnostics)
    (filters, diagnosticPaths, paths, wanted) = (plan.filters, plan.diagnosticPaths, plan.served, plan.wanted)
    derived = DerivedSignals(plan.derived)
  }

  /// The decoded content of one frame.
  package struct Decoding: Sendable {
    package var readings: [VehicleReading] = []
    /// A control unit's answer to a request.
    package var answer: OBDAnswer?
    /// The flow control frame that the sender of a long answer waits for; nil if none is needed.
    package var reply: CANFrame?
  }

  /// Processes a frame.
  /// - Returns: readings of requested signals; numbers at most ten times a second each.
  public mutating func process(_ frame: CANFrame, at time: Timestamp) -> [VehicleReading] {
    decode(frame, at: time).readings
  }

  /// Advances the time without a frame. Returns the readings that result from the bus being silent.
  public mutating func advance(to time: Timestamp) -> [VehicleReading] { derived.advance(to: time) }

  /// The next time at which `advance` must be called if no frame arrives earlier.
  public var nextDeadline: Timestamp? { derived.nextDeadline }

  /// Sets the current interval between OBD-II probes in s. Between two probes the control units may be silent
  /// without being off. 0 while no probes are sent.
  package mutating func observe(requestInterval: Double) { derived.requestInterval = requestInterval }

  /// Schedule of the required OBD-II requests; nil if there are none.
  package var requester: OBDRequester? { diagnostics.map { OBDRequester($0, paths: diagnosticPaths) } }

  package mutating func decode(_ frame: CANFrame, at time: Timestamp) -> Decoding {
    guard frame.kind == .data else { return Decoding() }
    var decoding = Decoding(readings: advance(to: time))
    var read = (bindings[frame.identifier] ?? []).compactMap { $0.reading(in: frame.data, at: time) }
    if !groupBindings.isEmpty, let identifier = J1939Identifier(frame.identifier) {
      read += (groupBindings[identifier.group] ?? []).compactMap { $0.reading(in: frame.data, at: time) }
    }
    read += group(frame, at: time)
    if let diagnostics, diagnostics.answers.admits(frame.identifier) {
      read += answer(frame, diagnostics, at: time, &decoding)
    }
    for reading in read {
      decoding.readings += derived.observe(reading)
      if wanted.contains(reading.path), thinning.admits(reading) { decoding.readings.append(reading) }
    }
    return decoding
  }

  private mutating func group(_ frame: CANFrame, at time: Timestamp) -> [VehicleReading] {
    guard !parameters.isEmpty || wantsBroadcast, let identifier = J1939Identifier(frame.identifier) else {
      return []
    }
    if identifier.group == J1939Broadcast.connection || identifier.group == J1939Broadcast.transfer {
      guard let (group, data) = broadcast.process(identifier, frame.data, at: time),
        group == J1939Parameter.identification, let text = VehicleIdentification.text(data)
      else { return [] }
      return [VehicleReading(timestamp: time, path: VehicleSignal.identification, value: .text(text))]
    }
    return (parameters[identifier.group] ?? []).compactMap { parameter in
      guard let value = parameter.value(in: frame.data) else { return nil }
      guard thinning.isBest(parameter, from: identifier.source, hasValue: value != nil, at: time) else {
        return nil
      }
      return VehicleReading(
        timestamp: time, path: parameter.path, value: value.map { .number($0) }, resolution: parameter.factor)
    }
  }

  private var wantsBroadcast: Bool { filters.contains { $0 == SignalPlan.broadcastFilters[0] } }

  private mutating func answer(
    _ frame: CANFrame, _ addressing: OBDAddressing, at time: Timestamp, _ decoding: inout Decoding
  ) -> [VehicleReading] {
    switch receiver.process(frame, at: time) {
    case .nothing: return []
    case .reply(let content):
      decoding.reply = CANFrame(addressing.unit(answering: frame.identifier), data: content)
      return []
    case .message(let message):
      decoding.answer = OBDAnswer(message)
      switch decoding.answer {
      case .value(let parameter, let value) where diagnosticPaths.contains(parameter.path):
        return [
          VehicleReading(
            timestamp: time, path: parameter.path, value: .number(value), origin: .diagnostic,
            resolution: parameter.factor)
        ]
      case .identification(let text) where diagnosticPaths.contains(VehicleSignal.identification):
        return [
          VehicleReading(
            timestamp: time, path: VehicleSignal.identification, value: .text(text), origin: .diagnostic)
        ]
      default: return []
      }
    }
  }
}

/// Limits the rate of readings of each signal: numbers to ten times a second, other values to changes and
/// once a second.
struct ReadingThinning: Sendable {
  private var last: [String: VehicleReading] = [:]
  private var best: [String: (rank: Int, source: UInt8, time: Timestamp)] = [:]

  /// Interval in s, slightly below 0.1, so that readings at 10 Hz pass.
  private static let interval = 0.095
  /// Time in s after the last value from the preferred parameter group or control unit. After it, another one
  /// is used.
  private static let sourceTimeout = 2.0

  mutating func admits(_ reading: VehicleReading) -> Bool {
    if let last = last[reading.path] {
      let age = reading.timestamp.seconds(since: last.timestamp)
      let isNumber = if case .number? = reading.value, case .number? = last.value { true } else { false }
      if age >= 0, isNumber ? age < Self.interval : reading.value == last.value && age < 1 { return false }
    }
    last[reading.path] = reading
    return true
  }

  /// Returns whether a parameter from a sender is to be used, because no preferred parameter group or other
  /// control unit provides the same signal.
  mutating func isBest(
    _ parameter: J1939Parameter, from source: UInt8, hasValue: Bool, at time: Timestamp
  ) -> Bool {
    if let known = best[parameter.path], time.seconds(since: known.time) <= Self.sourceTimeout,
      known.rank < parameter.rank || known.rank == parameter.rank && known.source != source
    {
      return false
    }
    if hasValue { best[parameter.path] = (parameter.rank, source, time) }
    let known = best[parameter.path]
    return hasValue || known?.rank == parameter.rank && known?.source == source
  }
}
