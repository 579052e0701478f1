internal import Sensors
internal import Spatial

/// The DBC signal that provides a path. Several signals with the same name count as one if no frame contains
/// two of them.
struct SignalBinding: Sendable {
  let path: String
  /// The message without its unused signals.
  let message: DBCMessage
  private let signals: [(signal: DBCSignal, conversion: UnitConversion)]
  private let form: VehicleSignal.Form?

  /// - Parameter file: the DBC file's name in errors.
  /// - Throws: `SourceError` for a signal that is missing, ambiguous or unreadable, or cannot provide the path.
  init(_ wanted: CANConfiguration.Signal, source: String, in database: DBCDatabase, file: String)
    throws(SourceError)
  {
    let (found, signals) = try Self.find(source, for: wanted.path, in: database, file: file)
    path = wanted.path
    let form = VehicleSignal.known[wanted.path]?.form
    self.form = form
    self.signals = try signals.map { signal throws(SourceError) in
      (signal, try Self.conversion(of: signal, in: found, to: form, for: wanted.path, file: file))
    }
    var message = found
    message.signals.removeAll { signal in
      !signal.isMultiplexor && !signals.contains { $0.name == signal.name }
    }
    self.message = message
  }

  /// Returns the message and its signals with the configured name. A frame contains at most one of these
  /// signals.
  private static func find(
    _ source: String, for path: String, in database: DBCDatabase, file: String
  ) throws(SourceError) -> (DBCMessage, [DBCSignal]) {
    var found: [(message: DBCMessage, signals: [DBCSignal])] = []
    for (message, signal) in database.signals(named: source) {
      if found.last?.message.line == message.line {
        found[found.count - 1].signals.append(signal)
      } else {
        found.append((message, [signal]))
      }
    }
    // Only the first of several identical definitions of a message is used.
    found = found.enumerated().filter { index, entry in
      !found[..<index].contains { $0.message.isSame(as: entry.message) }
    }.map(\.element)
    guard let (message, signals) = found.first else {
      throw database.reasonForSkipping(source)
        ?? SourceError(
          place: file, problem: "has no signal \(source), the source of \(path)",
          remedy: "correct can.signals: give the name after SG_, or MESSAGE.SIGNAL")
    }
    guard found.count == 1 else {
      let places = found.prefix(5).map { "\($0.message.name) (line \($0.message.line))" }
      let isDistinct = Set(found.map(\.message.name)).count == found.count
      throw SourceError(
        place: file, problem: "has a signal \(source) in the messages \(places.joined(separator: ", "))",
        remedy: isDistinct
          ? "name the message in can.signals, as in \(message.name).\(signals[0].name)"
          : "rename or delete one of them in the file")
    }
    for (index, signal) in signals.enumerated() {
      guard signals[..<index].allSatisfy({ $0.excludes(signal, in: message) || $0.isSame(as: signal) }) else {
        throw SourceError(
          place: "\(file):\(signal.line)",
          problem: "message \(message.name) has the signal \(signal.name) twice in one frame",
          remedy: "rename or delete one of them in the file")
      }
    }
    return (message, signals)
  }

  /// Checks that a signal can be read, and returns the conversion to the path's unit.
  private static func conversion(
    of signal: DBCSignal, in message: DBCMessage, to form: VehicleSignal.Form?, for path: String, file: String
  ) throws(SourceError) -> UnitConversion {
    let place = "\(file):\(signal.line)"
    if let fault = signal.fault {
      throw SourceError(
        place: place, problem: "signal \(signal.name) \(fault)", remedy: "name another signal in can.signals")
    }
    guard message.length <= CANFrame.longestData else {
      throw SourceError(
        place: place,
        problem:
          "signal \(signal.name): its message \(message.name) has \(message.length) bytes; a frame carries "
          + "\(CANFrame.longestData)", remedy: "name a signal of another message in can.signals")
    }
    guard signal.neededBytes <= message.length else {
      throw SourceError(
        place: place,
        problem:
          "signal \(signal.name) ends beyond the \(message.length) bytes of its message \(message.name)",
        remedy: "correct its start bit or its length")
    }
    guard case .number(let unit?)? = form else { return UnitConversion(factor: 1) }
    guard let conversion = UnitConversion(from: signal.unit, to: unit) else {
      throw SourceError(
        place: place,
        problem:
          "signal \(signal.name) is in \"\(signal.unit)\", which cannot be converted to \(unit) for \(path)",
        remedy: "correct the unit, or leave it empty if the values are in \(unit)")
    }
    return conversion
  }

  /// Returns the value in a frame; nil if the frame does not contain the signal.
  func reading(in data: [UInt8], at time: Timestamp) -> VehicleReading? {
    for (signal, conversion) in signals {
      guard let raw = message.rawValue(of: signal, in: data) else { continue }
      return VehicleReading(
        timestamp: time, path: path, value: value(raw, of: signal, conversion),
        resolution: abs(signal.factor * conversion.factor))
    }
    return nil
  }

  private func value(_ raw: DBCSignal.RawValue, of signal: DBCSignal, _ conversion: UnitConversion)
    -> VehicleReading.Value?
  {
    let label = raw.integer.flatMap { signal.labels[$0] }
    let isNumber = if case .number? = form { true } else { false }
    if let label, Self.saysNothing(label, isNumber: isNumber) { return nil }
    let physical = signal.physical(raw)
    switch form {
    case .flag: return .flag(raw.number != 0)
    case .text:
      return .text(
        path == VehicleSignal.systemState ? SystemState.name(label, raw.number) : label ?? "\(physical)")
    case .number:
      guard physical.isFinite, Self.isInRange(physical, of: signal) else { return nil }
      return .number(conversion(physical))
    case nil:
      // The specification defines no type for this path. A value with a label is therefore reported as text.
      if let label { return .text(label) }
      guard physical.isFinite, Self.isInRange(physical, of: signal) else { return nil }
      return .number(physical)
    }
  }

  private static func isInRange(_ physical: Double, of signal: DBCSignal) -> Bool {
    guard let range = signal.range else { return true }
    // DBC files round the limits to few digits, so values may exceed them by half a raw step.
    let slack = abs(signal.factor) / 2
    return physical >= range.lowerBound - slack && physical <= range.upperBound + slack
  }

  /// Returns whether a label means that the signal has no value.
  /// - Parameter isNumber: true if the signal is a number, so that a label such as "error" means no value.
  ///   Otherwise such a label is a state.
  private static func saysNothing(_ label: String, isNumber: Bool) -> Bool {
    let text = label.lowercased().filter { $0.isLetter }
    if isNumber, ["error", "fault", "undefined"].contains(text) { return true }
    return ["sna", "signalnotavailable", "initvalue"].contains(text) || text.hasPrefix("notavailable")
      || text.hasPrefix("invalid")
  }
}

/// The states of `Vehicle.LowVoltageSystemState`.
enum SystemState {
  static let (on, off, accessory) = ("ON", "OFF", "ACC")
  private static let names = ["LOCK", off, accessory, on, "START"]

  /// Returns the specification's name of a state, from the manufacturer's label or its number.
  static func name(_ label: String?, _ number: Double) -> String {
    guard let label else { return number == 0 ? off : on }
    let words = label.uppercased().split { !$0.isLetter }
    // "ON" takes precedence over other words, as in "key on, engine off".
    if words.contains(where: { $0 == on }) { return on }
    for name in names where words.contains(where: { $0 == name }) { return name }
    if words.contains(where: { $0.hasPrefix("ACC") }) { return accessory }
    if words.contains(where: { $0 == "RUN" || $0.hasPrefix("IGN") }) { return on }
    if words.contains(where: { $0.hasPrefix("CRANK") || $0.hasPrefix("START") }) { return "START" }
    return "UNDEFINED"
  }
}

extension DBCMessage {
  /// Returns whether two messages describe the same frames.
  fileprivate func isSame(as other: DBCMessage) -> Bool {
    identifier == other.identifier && name == other.name && length == other.length
      && signals.elementsEqual(other.signals) { $0.isSame(as: $1) }
  }
}

extension DBCSignal {
  /// Returns whether two signals describe the same value.
  fileprivate func isSame(as other: DBCSignal) -> Bool {
    var other = other
    other.line = line
    return self == other
  }
}
