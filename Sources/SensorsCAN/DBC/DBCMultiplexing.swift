/// Resolves which multiplexor selects each multiplexed signal, after the whole file was read.
///
/// - In a message with one multiplexor, it selects every multiplexed signal, by the value of `m3` and the
///   ranges of `SG_MUL_VAL_`.
/// - In a message with several multiplexors, `SG_MUL_VAL_` names the multiplexor and its values. Without this
///   statement, the only multiplexor that is in every frame (`M`) selects the signal.
/// - Several signals with the same name are distinguished by the value of `m3`.
struct DBCMultiplexing {
  /// Multiplexing of each signal that is a multiplexor or is selected by one.
  var switches: [DBCReader.SignalIndex: DBCSwitch] = [:]
  /// Values of `SG_MUL_VAL_`, by signal and multiplexor.
  var values: [DBCReader.SignalIndex: [String: [ClosedRange<UInt64>]]] = [:]

  func resolve(_ database: inout DBCDatabase) {
    for index in Set(switches.keys.map(\.message)) {
      resolve(&database.messages[index], at: index)
    }
  }

  private func resolve(_ message: inout DBCMessage, at index: Int) {
    let plan = MessagePlan(message, at: index, in: self)
    for number in message.signals.indices {
      guard let stated = switches[DBCReader.SignalIndex(message: index, signal: number)] else { continue }
      do throws(Fault) {
        let listed = values[DBCReader.SignalIndex(message: index, signal: number)] ?? [:]
        message.signals[number].selection = try plan.selection(of: message.signals[number], stated, listed)
      } catch {
        message.signals[number].fault = message.signals[number].fault ?? error.text
      }
    }
    let parents = Dictionary(
      message.signals.lazy.filter(\.isMultiplexor).map { ($0.name, $0.selection) },
      uniquingKeysWith: { first, _ in first })
    for number in message.signals.indices {
      var (selection, depth) = (message.signals[number].selection, 0)
      while let wanted = selection {
        depth += 1
        guard let next = parents[wanted.multiplexor], depth <= DBCMessage.deepestNesting else {
          let fault = "is selected by \(wanted.multiplexor), which no frame contains as a multiplexor"
          message.signals[number].fault = message.signals[number].fault ?? fault
          break
        }
        selection = next
      }
    }
  }

  private struct Fault: Error { var text: String }

  /// The multiplexors of one message.
  private struct MessagePlan {
    /// Names of all multiplexors.
    private var multiplexors: Set<String> = []
    /// Names of the multiplexors that every frame contains.
    private var top: [String] = []
    private var counts: [String: Int] = [:]
    private let message: String

    init(_ message: DBCMessage, at index: Int, in multiplexing: DBCMultiplexing) {
      self.message = message.name
      for (number, signal) in message.signals.enumerated() {
        counts[signal.name, default: 0] += 1
        guard signal.isMultiplexor else { continue }
        multiplexors.insert(signal.name)
        let place = DBCReader.SignalIndex(message: index, signal: number)
        if multiplexing.switches[place]?.value == nil, multiplexing.values[place] == nil {
          top.append(signal.name)
        }
      }
    }

    func selection(
      of signal: DBCSignal, _ stated: DBCSwitch, _ listed: [String: [ClosedRange<UInt64>]]
    ) throws(Fault) -> DBCSignal.Selection? {
      let isUnique = counts[signal.name] == 1
      let own = stated.value.map { [$0...$0] } ?? []
      if multiplexors.count == 1, let only = multiplexors.first {
        if signal.isMultiplexor { return nil }
        return DBCSignal.Selection(multiplexor: only, values: own + (isUnique ? listed[only] ?? [] : []))
      }
      let fitting = listed.filter { _, ranges in
        isUnique || stated.value.map { value in ranges.contains { $0.contains(value) } } ?? true
      }
      guard fitting.count < 2 else {
        throw Fault(
          text: "is selected by several multiplexors, \(fitting.keys.sorted().joined(separator: ", "))")
      }
      if let (multiplexor, ranges) = fitting.first {
        return DBCSignal.Selection(multiplexor: multiplexor, values: isUnique ? ranges : own)
      }
      if stated.value == nil { return nil }
      guard top.count == 1, top[0] != signal.name else {
        let count = multiplexors.isEmpty ? "no multiplexor" : "several multiplexors"
        throw Fault(
          text: "is multiplexed, but its message \(message) has \(count), and no SG_MUL_VAL_ names one")
      }
      return DBCSignal.Selection(multiplexor: top[0], values: own)
    }
  }
}

extension DBCSignal {
  /// Returns whether no frame of a message contains both signals, because one multiplexor selects them by
  /// different values.
  func excludes(_ other: DBCSignal, in message: DBCMessage) -> Bool {
    let theirs = other.selections(in: message)
    return selections(in: message).contains { mine in
      theirs.contains { their in
        mine.multiplexor == their.multiplexor
          && !mine.values.contains { range in their.values.contains { $0.overlaps(range) } }
      }
    }
  }

  /// Returns the conditions of the signal and of the multiplexors above it.
  private func selections(in message: DBCMessage) -> [Selection] {
    var (found, next) = ([Selection](), selection)
    while let selection = next, found.count <= DBCMessage.deepestNesting {
      found.append(selection)
      next = message.signals.first { $0.isMultiplexor && $0.name == selection.multiplexor }?.selection
    }
    return found
  }
}
