internal import ArgumentParser
internal import Fleet
internal import FleetCommand
internal import FleetProgram
internal import FleetStore
internal import Glibc

extension TraceFormat: ExpressibleByArgument {}

/// The output options of a trace.
struct TraceOutputArguments: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "odotrace, csv or mcap (default: by the file's name, else odotrace).", valueName: "form"),
    completion: .list(TraceFormat.allCases.map(\.rawValue)))
  var format: TraceFormat?

  @Option(
    name: .shortAndLong,
    help: ArgumentHelp("The file to write; - is standard output.", valueName: "file"), completion: .file())
  var output: String?

  @Flag(help: "Replace an existing file.")
  var force = false

  @Flag(name: [.customShort("q"), .customLong("quiet")], help: "Print no progress and no summary.")
  var isQuiet = false

  init() {}

  /// Returns the format.
  ///
  /// - Parameter usual: the format if neither an option nor the file name determines it.
  /// - Throws: `FleetError` for an unsupported file name, and for binary output to a terminal.
  func form(usual: TraceFormat = .odotrace) throws(FleetError) -> TraceFormat {
    let named = try advising(", or use --format") { () throws(FleetError) in
      try (format == nil ? output : nil).flatMap(TraceFormat.named(by:))
    }
    let form = format ?? named ?? usual
    if form != .csv, output ?? "-" == "-", isatty(STDOUT_FILENO) == 1 {
      throw .usage(
        "write", "\(form.rawValue) to the terminal", "name a file with --output, or use --format csv")
    }
    return form
  }

  /// Opens the output before the trace is fetched, so that an unwritable output is reported early.
  func open(inputs: [String] = [], shouldContinue: () -> Bool = { true }) throws(FleetError) -> OutputFile {
    try OutputFile(path: output, replaces: force, inputs: inputs, shouldContinue: shouldContinue)
  }

  /// Returns a trace in an output format, and reports damage on standard error.
  ///
  /// - Parameters:
  ///   - bytes: the trace as sent by the vehicle.
  ///   - title: a description of the trace for the first line of CSV.
  ///   - name: the name of the trace in messages to the user.
  /// - Throws: `FleetError` for bytes that are not a trace, and for a trace without samples that the format
  ///   supports.
  static func document(
    _ bytes: [UInt8], as form: TraceFormat, title: String, of name: String
  ) throws(FleetError) -> [UInt8] {
    let document = try TraceDocument(
      bytes, as: form, title: title, of: name, remedy: "--format mcap writes the rest")
    if let damage = document.damage { StandardError.report("\(name): \(damage); the intact part is written") }
    return document.bytes
  }
}
