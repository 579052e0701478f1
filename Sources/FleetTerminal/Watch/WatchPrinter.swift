package import Fleet
package import FleetProgram
internal import Glibc
package import Platform
internal import Spatial

/// The output of `watch` without a terminal: a line for each vehicle that changed within the interval, or the
/// table once.
package struct WatchPrinter {
  /// The width in columns of an output that is not a terminal.
  private static let defaultWidth = 160

  let request: WatchRequest
  let model: LiveModel<Roster>
  package let signals: SignalDescriptor

  package func run() throws(FleetError) -> ExitStatus {
    let interval = request.isOnce ? 0.05 : request.interval ?? 1
    let end = request.timeout.map { MonotonicTime.after($0) }
    var seen: UInt64 = 0
    var longestName = 0
    var lastTrouble: String?
    while true {
      let isOver = !pause(seconds: interval, end: end)
      if let number = signals.received().first { return ExitStatus(signal: number) }
      let (failure, trouble, wasConnected) = model.withState { ($0.failure, $0.trouble, $0.wasConnected) }
      if let failure { throw failure }
      // Without a connection to the broker its retained messages are unknown, so an empty table would be
      // wrong.
      if isOver, !wasConnected, let timeout = request.timeout { throw FleetError.unanswered(within: timeout) }
      if request.isOnce {
        switch reading {
        case .complete: return printTable()
        case .pending where isOver: return printTable()
        case .pending: continue
        case .unknown:
          let ending = printTable()
          StandardError.report(Self.doubt)
          return ending == .done ? .unavailable : ending
        }
      }
      if let trouble, trouble != lastTrouble { StandardError.report(trouble) }
      lastTrouble = trouble
      if let ending = printChanges(since: &seen, &longestName) { return ending }
      if isOver { return .done }
    }
  }

  /// Waits; returns false if the command's time limit has expired.
  private func pause(seconds: Double, end: MonotonicTime?) -> Bool {
    let left = min(seconds, end?.secondsRemaining ?? .infinity)
    if left > 0 { _ = waitUntilReadable([signals.descriptor], seconds: left) }
    return end.map { !$0.hasPassed } ?? true
  }

  private var reading: RetainedReading.Outcome {
    model.withState { $0.reading?.outcome(at: .now) ?? .pending }
  }

  private static let doubt =
    "the broker did not confirm that all retained messages were sent: vehicles may be missing; select fewer with --fleet and "
    + "--vehicle, or retry"

  private func printChanges(since seen: inout UInt64, _ longestName: inout Int) -> ExitStatus? {
    let now = Moment.now
    let since = seen
    let (changed, revision) = model.withState { state in
      (
        state.value.vehicles.filter { $0.revision > since && request.filter.matches($0, at: now) },
        state.value.revision
      )
    }
    seen = revision
    var text = ""
    for record in changed.sorted(by: { $0.key < $1.key }) {
      if request.isJSON {
        text += String(decoding: record.json(at: now), as: UTF8.self) + "\n"
        continue
      }
      longestName = max(longestName, VehicleRow.nameWidth(record.key, withFleet: true))
      let layout = WatchColumn.layout(
        width: width(longestName: longestName), longestName: longestName, chosen: request.columns)
      var line = StyledText(now.time.rfc3339 + "  ")
      line.append(WatchView.line(VehicleRow(record: record, now: now, namesFleet: true), layout))
      text += line.plain.trimmingTrailingBlanks + "\n"
    }
    return CommandOutput.write(text)
  }

  /// Returns the width for an output that is not a terminal, with space for all chosen columns.
  private func width(longestName: Int) -> Int {
    request.columns.map { max(Self.defaultWidth, WatchColumn.widthNeeded(by: $0, longestName: longestName)) }
      ?? Self.defaultWidth
  }

  private func printTable() -> ExitStatus {
    let now = Moment.now
    let isTerminal = isatty(STDOUT_FILENO) == 1
    let width = isTerminal ? TerminalSize(of: STDOUT_FILENO)?.columns ?? 80 : width(longestName: 40)
    var view = WatchView(size: TerminalSize(columns: width, rows: 1), title: "")
    view.order = request.order
    view.filter = request.filter
    view.chosenColumns = request.columns
    let (text, remarks) = model.withState { state in
      let text =
        request.isJSON
        ? Self.json(of: state.value, at: now, &view)
        : Self.table(of: state.value, at: now, &view, styles: isTerminal && CommandOutput.usesColor)
      return (
        text, Self.remarks(on: state.value) + Self.absence(in: state.value, view.filter, request, at: now)
      )
    }
    // Remarks are printed on standard error, because scripts parse the table.
    for remark in remarks { StandardError.report(remark) }
    return CommandOutput.write(text) ?? .done
  }

  /// Returns the reason for an empty table; empty otherwise.
  static func absence(in roster: Roster, _ filter: VehicleFilter, _ request: WatchRequest, at now: Moment)
    -> [String]
  {
    guard !roster.vehicles.contains(where: { filter.matches($0, at: now) }) else { return [] }
    guard roster.vehicles.isEmpty else {
      let names = filter.text.isEmpty ? nil : "has \"\(filter.text)\" in its name or state"
      let silence = filter.silence.map { "is silent for \(QuantityText.age($0))" }
      let what = [names, silence].compactMap(\.self).joined(separator: " and ")
      return ["none of \(roster.vehicles.count) vehicles \(what)"]
    }
    if request.share != nil {
      return ["no vehicle: retained messages are not delivered to shared subscribers; remove --share"]
    }
    let isChosen = request.selectsVehicles
    return [
      "no vehicle: the broker has no retained status or location \(isChosen ? "of the selected vehicles" : "below \(roster.root)"); "
        + (isChosen
          ? "remove --fleet or --vehicle, " : "use --root or --message-profile, ")
        + "or run odograph check, to see whether this user may read and whether the broker delivers retained messages; "
        + "or start with a recording: --recording"
    ]
  }

  /// Returns remarks about messages that are not in the table.
  package static func remarks(on roster: Roster) -> [String] {
    func messages(_ count: Int) -> String { "\(count) message\(count == 1 ? "" : "s")" }
    var remarks: [String] = []
    let counters = roster.counters
    if counters.malformed > 0 { remarks.append("\(messages(counters.malformed)) could not be read") }
    if counters.refused > 0 {
      remarks.append(
        "\(messages(counters.refused)) are from vehicles beyond the limit of \(roster.capacity), which are not shown; "
          + "select vehicles with --fleet or --vehicle, or raise --most")
    }
    return remarks
  }

  /// Returns the whole table as text, with titles but without a header.
  package static func table(of roster: Roster, at now: Moment, _ view: inout WatchView, styles: Bool)
    -> String
  {
    // The table contains the whole fleet, because a table for a script must not be cut.
    view.isUnbounded = true
    let snapshot = view.snapshot(of: roster, at: now)
    let layout = WatchColumn.layout(
      width: view.size.columns, longestName: snapshot.longestName, chosen: view.chosenColumns)
    var text = view.titles(layout).rendered(styles: styles).trimmingTrailingBlanks + "\n"
    for record in snapshot.visible {
      let row = VehicleRow(record: record, now: now, namesFleet: snapshot.fleets.count > 1)
      text += WatchView.line(row, layout).rendered(styles: styles).trimmingTrailingBlanks + "\n"
    }
    return text
  }

  /// Returns all vehicles that match the filter as a JSON array, one vehicle per line.
  package static func json(of roster: Roster, at now: Moment, _ view: inout WatchView) -> String {
    view.isUnbounded = true
    let objects = view.snapshot(of: roster, at: now).visible.map {
      String(decoding: $0.json(at: now), as: UTF8.self)
    }
    return "[" + objects.joined(separator: ",\n") + "]\n"
  }
}

extension String {
  fileprivate var trimmingTrailingBlanks: String {
    var text = self[...]
    while text.last == " " { text.removeLast() }
    return String(text)
  }
}
