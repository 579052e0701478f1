package import ArgumentParser
package import Fleet
internal import FleetConsole
internal import Glibc
internal import MQTT
internal import Platform
internal import Spatial

/// The options of `odograph export`.
package struct ExportOptions: ParsableArguments {
  @OptionGroup(title: "Selection") package var part: RecordingArguments

  @Option(
    name: .shortAndLong,
    help: ArgumentHelp("The file to write (default: standard output).", valueName: "file"))
  package var output: String?

  @Option(
    name: .customLong("format"),
    help: ArgumentHelp(
      "\(ExportFormat.allCases.map(\.rawValue).joined(separator: ", ")) (default: by the file's name, else jsonl).",
      valueName: "form"))
  var givenFormat: ExportFormat?

  @Flag(
    name: .customLong("messages"), help: "All messages as they came, as JSON lines, instead of positions.")
  var exportsMessages = false

  @Option(
    help: ArgumentHelp(
      "Without a position for so long, a track of GPX and KML begins anew.", valueName: "seconds"))
  var gap = 300.0

  @Flag(help: "The same as --format jsonl.")
  package var json = false

  @Flag(name: [.customShort("q"), .customLong("quiet")], help: "No progress, no closing line.")
  var isQuiet = false

  package init() {}

  /// What is said of the form has to agree; a file's name says it where nothing else does.
  func format() throws(FleetError) -> ExportFormat {
    if json, let givenFormat, givenFormat != .jsonl {
      throw .usage("use", "--json", "--format says otherwise; give one of them")
    }
    if let givenFormat { return givenFormat }
    let named: ExportFormat? = if let output { try ExportFormat.named(by: output) } else { nil }
    if json || exportsMessages, let output, let named, named != .jsonl {
      throw .usage(
        "write", "JSON lines to \(output)",
        "its name says \(named.rawValue); name it .jsonl, or say --format jsonl")
    }
    return named ?? .jsonl
  }

  /// - Throws: `FleetError` for options that make no sense.
  func check(_ format: ExportFormat) throws(FleetError) {
    guard gap > 0, gap <= 1e9 else {
      throw .usage("use", "--gap \(gap)", "it is above 0, in seconds")
    }
    guard !exportsMessages || format == .jsonl else {
      throw .usage(
        "write", "messages as \(format.rawValue)",
        "messages go into JSON lines only; leave out --messages, or use --format jsonl")
    }
  }
}

extension ExportFormat: ExpressibleByArgument {}

/// Writes a recording, or a part of it, in a form that others read.
///
/// Rows come out of the database one by one and leave as text: a year of a fleet takes no more memory than a day.
package enum ExportCommand {
  /// Bytes that are written at once.
  private static let portion = 256 << 10

  /// - Throws: `FleetError` for options that make no sense, a recording that is not there, an output that fails.
  package static func run(_ options: ExportOptions) throws(FleetError) -> ExitStatus {
    let format = try options.format()
    try options.check(format)
    let selection = try options.part.selection()
    signal(SIGPIPE, SIG_IGN)
    let waiter = try CommandWaiter()
    let recording = try RecordingAddress.open(options.part.place)
    var output = try OutputFile(path: options.output)
    var progress = ExportProgress(options)
    let ending =
      options.exportsMessages
      ? try exportMessages(selection, recording, output, &progress, waiter)
      : try exportPositions(selection, format.writer(gap: options.gap), recording, output, &progress, waiter)
    progress.clear()
    if let ending { return ending }
    try output.finish()
    progress.conclude(recording.name)
    return .done
  }

  private static func exportPositions(
    _ selection: RecordingSelection, _ writer: any PositionWriter, _ recording: any Recording,
    _ output: borrowing OutputFile,
    _ progress: inout ExportProgress, _ waiter: CommandWaiter
  ) throws(FleetError) -> ExitStatus? {
    if progress.isShown {
      progress.total = try recording.countPositions(selection)
    }
    var writer = writer
    writer.begin()
    var last: RecordedPosition?
    var ending: ExitStatus?
    try recording.readPositions(selection) { position throws(FleetError) in
      progress.seen += 1
      // What was said at the time often comes again in a track: of one moment there is one position.
      if let last, last.vehicle == position.vehicle, last.time == position.time {
        progress.repetitions += 1
        return true
      }
      last = position
      progress.written += 1
      writer.append(position)
      guard writer.bytes.count >= portion else { return true }
      ending = try flush(&writer.bytes, output, &progress, waiter)
      return ending == nil
    }
    if let ending { return ending }
    writer.end()
    return try flush(&writer.bytes, output, &progress, waiter)
  }

  private static func exportMessages(
    _ selection: RecordingSelection, _ recording: any Recording, _ output: borrowing OutputFile,
    _ progress: inout ExportProgress, _ waiter: CommandWaiter
  ) throws(FleetError) -> ExitStatus? {
    if progress.isShown {
      progress.total = try recording.extent(selection).count
    }
    var lines = MessageLines()
    var ending: ExitStatus?
    try recording.readMessages(selection) { message throws(FleetError) in
      progress.seen += 1
      progress.written += 1
      lines.append(
        topic: message.topic, qos: message.qos.rawValue, retain: message.retain, payload: message.payload,
        received: message.received)
      guard lines.bytes.count >= portion else { return true }
      var bytes = lines.bytes
      lines.removeAll()
      ending = try flush(&bytes, output, &progress, waiter)
      return ending == nil
    }
    if let ending { return ending }
    var bytes = lines.bytes
    return try flush(&bytes, output, &progress, waiter)
  }

  /// Writes and empties; returns how the command ends when it is to.
  private static func flush(
    _ bytes: inout [UInt8], _ output: borrowing OutputFile, _ progress: inout ExportProgress,
    _ waiter: CommandWaiter
  ) throws(FleetError) -> ExitStatus? {
    let hasReader = try output.write(bytes)
    bytes.removeAll(keepingCapacity: true)
    guard hasReader else { return .done }
    progress.show()
    if case .ended(let status) = waiter.wait(seconds: 0) { return status }
    return nil
  }
}

/// What an export tells of itself while it goes on, and at its end.
struct ExportProgress {
  var total: Int?
  /// Rows read.
  var seen = 0
  var written = 0
  var repetitions = 0
  let isShown: Bool
  private let what: String
  private let saysEnd: Bool
  private var line = ProgressLine()

  init(_ options: ExportOptions) {
    isShown = isatty(STDERR_FILENO) == 1 && !options.isQuiet
    what = options.exportsMessages ? "messages" : "positions"
    saysEnd = !options.isQuiet
  }

  mutating func show() {
    guard isShown else { return }
    line.show { [self] in ProgressBar.text(seen, of: total, unit: what) }
  }

  mutating func clear() { line.clear() }

  func conclude(_ name: String) {
    guard saysEnd else { return }
    let twice = repetitions > 0 ? ", \(repetitions) of moments that were there already left out" : ""
    StandardError.say("\(written) \(what) from \(name)\(twice)")
  }
}

/// `[#####-----]  52 %  104.0k of 200.0k positions`.
enum ProgressBar {
  static func text(_ done: Int, of total: Int?, unit: String) -> String {
    guard let total, total > 0 else { return "\(QuantityText.count(done)) \(unit)" }
    let share = min(1, Double(done) / Double(total))
    let full = Int(share * 30)
    let bar = String(repeating: "#", count: full) + String(repeating: "-", count: 30 - full)
    return
      "[\(bar)] \(Int(share * 100)) %  \(QuantityText.count(done)) of \(QuantityText.count(total)) \(unit)"
  }
}
