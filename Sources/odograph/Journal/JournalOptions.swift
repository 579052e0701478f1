internal import ArgumentParser
internal import Fleet
internal import FleetCommand
internal import FleetStore
internal import Spatial

/// The common options of `odograph trips` and `odograph events`: source, time range and output.
struct JournalOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "Read this recording, an SQLite file or a postgres:// URL, instead of subscribing to the broker.",
      valueName: "store"), completion: .file())
  var recording: String?

  @Option(help: "Only this fleet; repeat for several.")
  var fleet: [String] = []

  @Option(
    help: ArgumentHelp(
      "Started at or after this time of the vehicle's clock: RFC 3339, or a day (midnight UTC).",
      valueName: "time"))
  var from: String?

  @Option(help: ArgumentHelp("Started before this time.", valueName: "time"))
  var to: String?

  @Option(help: ArgumentHelp("Started in this month (UTC), for example 2026-11.", valueName: "month"))
  var month: String?

  @Option(
    name: .customLong("format"),
    help: ArgumentHelp(
      "\(JournalFormat.allCases.map(\.rawValue).joined(separator: ", ")) (default: by the file's name, else text).",
      valueName: "form"), completion: .list(JournalFormat.allCases.map(\.rawValue)))
  var givenFormat: JournalFormat?

  @Flag(help: "The same as --format jsonl.")
  var json = false

  @Option(
    name: .shortAndLong,
    help: ArgumentHelp("The file to write (default: standard output).", valueName: "file"),
    completion: .file())
  var output: String?

  @Flag(help: "Replace an existing file.")
  var force = false

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp("With the broker: stop after this number of entries.", valueName: "number"))
  var count: Int?

  @OptionGroup var time: TimeLimitArguments

  @Flag(name: [.customShort("q"), .customLong("quiet")], help: "Print no progress and no summary.")
  var isQuiet = false

  init() {}

  /// Returns the format; contradictory options are an error, and the default follows from the file name.
  func format() throws(FleetError) -> JournalFormat {
    if json, let givenFormat, givenFormat != .jsonl {
      throw .usage("use", "--json", "it contradicts --format; use one of them")
    }
    if let givenFormat { return givenFormat }
    let named = try advising(", or use --format") { () throws(FleetError) in
      try output.flatMap(JournalFormat.named(by:))
    }
    if json, let output, let named, named != .jsonl {
      throw .usage("write", "JSON lines to \(output)", "its name says \(named.rawValue); name it .jsonl")
    }
    return json ? .jsonl : named ?? .text
  }

  /// Returns the vehicles and the time range.
  /// - Parameter vehicles: empty for all.
  /// - Throws: `FleetError` for invalid or contradictory options.
  func selection(vehicles: [String]) throws(FleetError) -> RecordingSelection {
    var selection = RecordingSelection()
    (selection.fleets, selection.vehicles) = (fleet, vehicles)
    if recording == nil {
      for (value, name) in [(from, "--from"), (to, "--to"), (month, "--month")] where value != nil {
        throw .usage("use", name, "it chooses out of a recording; name one with --recording")
      }
      if let count, count < 1 { throw .usage("print", "\(count) messages", "--count must be 1 or more") }
    } else {
      for (isGiven, name) in [(count != nil, "--count"), (time.timeout != nil, "--timeout")] where isGiven {
        throw .usage("use", name, "it ends listening to a broker; leave it out, or --recording")
      }
    }
    try selection.setTimes(from: from, to: to)
    guard let month else { return selection }
    guard from == nil, to == nil else {
      throw .usage("use", "--month", "--from and --to say otherwise; give one or the other")
    }
    (selection.from, selection.to) = try Self.bounds(ofMonth: month)
    return selection
  }

  /// Returns the start of a month, and the start of the next month.
  private static func bounds(ofMonth text: String) throws(FleetError) -> (UTCTime, UTCTime) {
    let parts = text.split(separator: "-", omittingEmptySubsequences: false)
    if text.utf8.count == 7, parts.count == 2, let year = Int(parts[0]), let month = Int(parts[1]),
      let begin = UTCTime(rfc3339: "\(text)-01T00:00:00Z")
    {
      func padded(_ number: Int, _ width: Int) -> String {
        String(repeating: "0", count: max(0, width - String(number).count)) + String(number)
      }
      let next = month == 12 ? (year + 1, 1) : (year, month + 1)
      if let end = UTCTime(rfc3339: "\(padded(next.0, 4))-\(padded(next.1, 2))-01T00:00:00Z") {
        return (begin, end)
      }
    }
    throw .usage("use", "--month \(text.prefix(40))", "write a month as 2026-11")
  }
}

extension JournalFormat: ExpressibleByArgument {}
