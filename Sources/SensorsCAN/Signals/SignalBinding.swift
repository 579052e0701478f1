internal import Sensors
internal import Spatial

/// A signal of a DBC file that serves a path.
struct SignalBinding: Sendable {
  let path: String
  let message: DBCMessage
  let signal: DBCSignal
  private let form: VehicleSignal.Form?
  private let conversion: UnitConversion

  /// - Parameter file: what errors call the DBC file.
  /// - Throws: `CANError` for a signal that is not there, not unique, or cannot serve the path.
  init(_ wanted: CANConfiguration.Signal, source: String, in database: DBCDatabase, file: String)
    throws(CANError)
  {
    let found = database.signals(named: source)
    guard let first = found.first else {
      throw CANError(
        place: file, problem: "has no signal \(source), which \(wanted.path) is to come from",
        remedy: "correct can.signals; names are as after SG_, or MESSAGE.SIGNAL")
    }
    guard found.count == 1 else {
      throw CANError(
        place: file,
        problem: "has a signal \(source) in the messages "
          + found.prefix(5).map(\.message.name).joined(separator: ", "),
        remedy: "say which in can.signals, as in \(first.message.name).\(first.signal.name)")
    }
    (path, message, signal) = (wanted.path, first.message, first.signal)
    form = VehicleSignal.known[wanted.path]?.form
    let place = "\(file):\(signal.line)"
    guard signal.multiplexing != .extended else {
      throw CANError(
        place: place, problem: "signal \(signal.name) is in a multiplexor within another",
        remedy: "name a signal that is not")
    }
    if case .multiplexed = signal.multiplexing, message.multiplexor == nil {
      throw CANError(
        place: place,
        problem: "signal \(signal.name) is multiplexed, and its message \(message.name) has no multiplexor",
        remedy: "mark the multiplexor with M")
    }
    guard signal.neededBytes <= min(message.length, CANFrame.longestData) else {
      throw CANError(
        place: place,
        problem:
          "signal \(signal.name) ends beyond the \(message.length) bytes of its message \(message.name)",
        remedy: "correct its start bit or its length")
    }
    if case .number(let unit?)? = form {
      guard let conversion = UnitConversion(from: signal.unit, to: unit) else {
        throw CANError(
          place: place,
          problem:
            "signal \(signal.name) is in \"\(signal.unit)\", of which no \(unit) can be made for \(path)",
          remedy: "correct the unit, or leave it empty where the values are in \(unit)")
      }
      self.conversion = conversion
    } else {
      conversion = UnitConversion(factor: 1)
    }
  }

  /// What a frame says; nil where it says nothing of the signal.
  func reading(in data: [UInt8], at time: Timestamp) -> VehicleReading? {
    guard let raw = message.rawValue(of: signal, in: data) else { return nil }
    return VehicleReading(
      timestamp: time, path: path, value: value(raw), resolution: abs(signal.factor * conversion.factor))
  }

  private func value(_ raw: DBCSignal.RawValue) -> VehicleReading.Value? {
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
      guard physical.isFinite, isInRange(physical) else { return nil }
      return .number(conversion(physical))
    case nil:
      // A path that only the file knows: what has names is told by them.
      if let label { return .text(label) }
      guard physical.isFinite, isInRange(physical) else { return nil }
      return .number(physical)
    }
  }

  private func isInRange(_ physical: Double) -> Bool {
    guard let range = signal.range else { return true }
    // Ends are written with few digits.
    let slack = abs(signal.factor) / 2
    return physical >= range.lowerBound - slack && physical <= range.upperBound + slack
  }

  /// What makers call a value that is none.
  /// - Parameter isNumber: where a fault is no value; among states it is one.
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

  /// The specification's name of a state by what a maker calls it, or its number.
  static func name(_ label: String?, _ number: Double) -> String {
    guard let label else { return number == 0 ? off : on }
    let words = label.uppercased().split { !$0.isLetter }
    // As in "key on, engine off".
    if words.contains(where: { $0 == on }) { return on }
    for name in names where words.contains(where: { $0 == name }) { return name }
    if words.contains(where: { $0.hasPrefix("ACC") }) { return accessory }
    if words.contains(where: { $0 == "RUN" || $0.hasPrefix("IGN") }) { return on }
    if words.contains(where: { $0.hasPrefix("CRANK") || $0.hasPrefix("START") }) { return "START" }
    return "UNDEFINED"
  }
}
