package import ArgumentParser
internal import Fleet
internal import FleetCommand
internal import Glibc

/// The format of a trace file.
package enum TraceFormat: String, Hashable, Sendable, CaseIterable {
  /// The original file of the vehicle, unchanged.
  case odotrace
  /// A sensor recording in CSV, with inertial and barometer samples only.
  case csv
  case mcap

  /// Returns the format for a file name's extension; nil if the name has no extension.
  /// - Throws: `FleetError` for an unsupported extension.
  static func named(by path: String) throws(FleetError) -> TraceFormat? {
    let name = path.split(separator: "/").last ?? ""
    guard let dot = name.lastIndex(of: "."), dot > name.startIndex else { return nil }
    let end = name[name.index(after: dot)...].lowercased()
    if let format = TraceFormat(rawValue: end) { return format }
    throw .usage(
      "write", path,
      ".\(end.prefix(20)) is none of the forms; name a file that ends with .odotrace, .csv or .mcap, or use --format"
    )
  }
}

extension TraceFormat: ExpressibleByArgument {}

/// The output options of a trace.
package struct TraceOutputArguments: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "odotrace, csv or mcap (default: by the file's name, else odotrace).", valueName: "form"),
    completion: .list(TraceFormat.allCases.map(\.rawValue)))
  var format: TraceFormat?

  @Option(
    name: .shortAndLong,
    help: ArgumentHelp("The file to write; - is standard output.", valueName: "file"), completion: .file())
  package var output: String?

  @Flag(help: "Replace an existing file.")
  var force = false

  @Flag(name: [.customShort("q"), .customLong("quiet")], help: "Print no progress and no summary.")
  var isQuiet = false

  package init() {}

  /// Returns the format.
  ///
  /// - Parameter usual: the format if neither an option nor the file name determines it.
  /// - Throws: `FleetError` for an unsupported file name, and for binary output to a terminal.
  func form(usual: TraceFormat = .odotrace) throws(FleetError) -> TraceFormat {
    let named: TraceFormat? = if let output, format == nil { try TraceFormat.named(by: output) } else { nil }
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
}

/// Converts a trace to an output format.
enum TraceDocument {
  /// Returns the converted trace.
  ///
  /// - Parameters:
  ///   - bytes: the trace as sent by the vehicle.
  ///   - form: the output format.
  ///   - title: a description of the trace for the first line of CSV.
  ///   - name: the name of the trace in messages to the user.
  /// - Throws: `FleetError` for bytes that are not a trace, and for a trace without samples that the format
  ///   supports.
  static func bytes(
    _ bytes: [UInt8], as form: TraceFormat, title: String, of name: String
  ) throws(FleetError) -> [UInt8] {
    if form == .odotrace { return bytes }
    let trace = try TraceReading(bytes, of: name)
    if let damage = trace.damage { StandardError.report("\(name): \(damage); the intact part is written") }
    if form == .mcap { return TraceMCAP.bytes(trace.head, trace.samples) }
    guard let text = TraceCSV.text(trace, title: title) else {
      throw .usage(
        "write", "\(name) as CSV",
        "it has no samples of inertial sensors or a barometer; --format mcap writes the rest")
    }
    return Array(text.utf8)
  }
}
