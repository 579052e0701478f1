internal import Fleet
internal import FleetCommand
internal import FleetProgram
internal import FleetStore
internal import FleetTerminal
internal import Glibc
internal import MQTT
internal import Platform
internal import Spatial

/// The `odograph export` command: writes a recording or a part of it in a common format.
///
/// Rows are read and written one by one, so that a year needs no more memory than a day.
enum ExportCommand {
  /// Runs the command.
  ///
  /// - Throws: `FleetError` for invalid options, a missing recording, and a failed output.
  static func run(_ options: Export) throws(FleetError) -> ExitStatus {
    let format = try options.format()
    try options.check(format)
    let selection = try options.part.selection()
    signal(SIGPIPE, SIG_IGN)
    var export = try RunningExport(options, selection)
    do throws(FleetError) { try export.run(format) } catch {
      // A signal makes the current operation fail; the failure itself is not an error.
      guard export.monitor.ending != nil else { throw error }
    }
    return try export.conclude()
  }
}

/// An export in progress.
private struct RunningExport: ~Copyable {
  /// The number of bytes after which the buffer is written.
  private static let portion = 256 << 10

  let monitor: WorkMonitor
  private let options: Export
  private let selection: RecordingSelection
  private var output: OutputFile?
  private var partitions: PositionPartitions?
  private var total: Int?
  /// The number of rows read from the recording.
  private var seen = 0
  private var written = 0
  private var repetitions = 0
  private var last: RecordedPosition?
  /// False after the process at the other end of the output pipe has closed it.
  private var hasReader = true

  init(_ options: Export, _ selection: RecordingSelection) throws(FleetError) {
    self.options = options
    self.selection = selection
    monitor = WorkMonitor(try CommandWaiter(), isQuiet: options.isQuiet)
  }

  mutating func run(_ format: ExportFormat) throws(FleetError) {
    let monitor = monitor
    let recording = try RecordingAddress.open(options.part.place) { monitor.shouldContinue() }
    let inputs = RecordingAddress.files(of: options.part.place)
    guard let writer = format.writer(gap: options.gap) else {
      partitions = try PositionPartitions(
        path: options.output ?? "", replaces: options.force, updates: options.update, inputs: inputs)
      return try writePartitions(recording)
    }
    monitor.awaited = "reader of the output"
    output = try OutputFile(path: options.output, replaces: options.force, inputs: inputs) {
      monitor.shouldContinue()
    }
    monitor.awaited = "database"
    if options.exportsMessages {
      try writeMessages(recording)
    } else {
      try writePositions(recording, writer)
    }
  }

  /// Completes the file, and prints a summary.
  consuming func conclude() throws(FleetError) -> ExitStatus {
    monitor.clear()
    let what = options.exportsMessages ? "messages" : "positions"
    let name = HistoryReader.name(of: options.part.place)
    if let ending = monitor.ending {
      if !options.isQuiet {
        let left =
          output?.leavesNothing ?? true || written == 0 ? "nothing is written" : "\(written) are written"
        StandardError.report("ended after \(seen) \(what) of \(name); \(left)")
      }
      return try ending.status()
    }
    guard hasReader else { return .done }
    try output?.finish()
    try partitions?.finish()
    if !options.isQuiet {
      let twice = repetitions > 0 ? ", \(repetitions) duplicates omitted" : ""
      StandardError.report("\(written) \(what) from \(name)\(twice)\(absence)")
    }
    return .done
  }

  /// The reason for an empty export, as a text for the summary; empty if there are rows.
  private var absence: String {
    guard written == 0 else { return "" }
    if !selection.isAll { return ": nothing in it matches the options; use fewer of them" }
    return options.exportsMessages
      ? "" : ": it contains no positions; --messages writes all messages"
  }

  private mutating func writePositions(
    _ recording: any Recording, _ writer: any DocumentWriter<RecordedPosition>
  ) throws(FleetError) {
    if monitor.isShown { total = try recording.countPositions(selection) }
    var writer = writer
    writer.begin()
    try recording.readPositions(selection) { position throws(FleetError) in
      guard isNew(position) else { return true }
      writer.append(position)
      return writer.bytes.count < Self.portion ? true : try flush(&writer.bytes, "positions")
    }
    guard hasReader, monitor.ending == nil else { return }
    writer.end()
    _ = try flush(&writer.bytes, "positions")
  }

  private mutating func writePartitions(_ recording: any Recording) throws(FleetError) {
    let monitor = monitor
    if monitor.isShown { total = try recording.countPositions(selection) }
    try recording.readPositions(selection, isByDay: true) { position throws(FleetError) in
      guard isNew(position) else { return true }
      try partitions?.append(position)
      guard written % 1000 == 0 else { return true }
      monitor.show { [seen, total] in ProgressBar.text(seen, of: total, unit: "positions") }
      return monitor.shouldContinue()
    }
  }

  /// Counts a position; returns false for a second position of the same vehicle and time. Live positions are
  /// often repeated in a track; only one of them is exported.
  private mutating func isNew(_ position: RecordedPosition) -> Bool {
    seen += 1
    if let last, last.vehicle == position.vehicle, last.time == position.time {
      repetitions += 1
      return false
    }
    last = position
    written += 1
    return true
  }

  private mutating func writeMessages(_ recording: any Recording) throws(FleetError) {
    if monitor.isShown { total = try recording.extent(selection).count }
    var lines = MessageLines()
    try recording.readMessages(selection) { message throws(FleetError) in
      seen += 1
      written += 1
      lines.append(
        topic: message.topic, qos: message.qos.rawValue, retain: message.retain, payload: message.payload,
        received: message.received)
      guard lines.bytes.count >= Self.portion else { return true }
      var bytes = lines.bytes
      lines.removeAll()
      return try flush(&bytes, "messages")
    }
    guard hasReader, monitor.ending == nil else { return }
    var bytes = lines.bytes
    _ = try flush(&bytes, "messages")
  }

  /// Writes and clears the buffer; returns false if the output is closed or the command is to stop.
  private mutating func flush(_ bytes: inout [UInt8], _ unit: String) throws(FleetError) -> Bool {
    let monitor = monitor
    monitor.awaited = "reader of the output"
    defer { monitor.awaited = "database" }
    hasReader = try output?.write(bytes) { monitor.shouldContinue() } ?? false
    bytes.removeAll(keepingCapacity: true)
    monitor.show { [seen, total] in ProgressBar.text(seen, of: total, unit: unit) }
    return hasReader && monitor.shouldContinue()
  }
}
