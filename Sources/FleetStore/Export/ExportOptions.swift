package import ArgumentParser
internal import Fleet
internal import FleetConsole

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
  package var givenFormat: ExportFormat?

  @Flag(
    name: .customLong("messages"), help: "All messages as they came, as JSON lines, instead of positions.")
  package var exportsMessages = false

  @Option(
    help: ArgumentHelp(
      "Without a position for so long, a track of GPX and KML begins anew.", valueName: "seconds"))
  package var gap = 300.0

  @Flag(help: "The same as --format jsonl.")
  package var json = false

  @Flag(name: [.customShort("q"), .customLong("quiet")], help: "No progress, no closing line.")
  package var isQuiet = false

  package init() {}

  /// What is said of the form has to agree; a file's name says it where nothing else does.
  func format() throws(FleetError) -> ExportFormat {
    if json, let givenFormat, givenFormat != .jsonl {
      throw FleetError(
        operation: "use", object: "--json", cause: "--format says otherwise; give one of them", exit: .usage)
    }
    if let givenFormat { return givenFormat }
    let named: ExportFormat? = if let output { try ExportFormat.named(by: output) } else { nil }
    if json || exportsMessages, let output, let named, named != .jsonl {
      throw FleetError(
        operation: "write", object: "JSON lines to \(output)",
        cause: "its name says \(named.rawValue); name it .jsonl, or say --format jsonl", exit: .usage)
    }
    return named ?? .jsonl
  }

  /// - Throws: `FleetError` for options that make no sense.
  func check(_ format: ExportFormat) throws(FleetError) {
    guard gap > 0, gap <= 1e9 else {
      throw FleetError(
        operation: "use", object: "--gap \(gap)", cause: "it is above 0, in seconds", exit: .usage)
    }
    guard !exportsMessages || format == .jsonl else {
      throw FleetError(
        operation: "write", object: "messages as \(format.rawValue)",
        cause: "messages go into JSON lines only; leave out --messages, or use --format jsonl", exit: .usage)
    }
  }
}

extension ExportFormat: ExpressibleByArgument {}
