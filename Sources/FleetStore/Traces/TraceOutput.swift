package import ArgumentParser
internal import Fleet
internal import FleetCommand
internal import Glibc

/// The format of a trace file.
package enum TraceFormat: String, Hashable, Sendable, CaseIterable {
  /// The original format of the vehicle.
  case odotrace
  /// A sensor recording.
  case csv
  case mcap

  /// Returns the format of a file name's extension; nil without one.
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
  /// - Parameter usual: the default without option and file name.
  /// - Throws: `FleetError` for contradictory names, and for binary output to a terminal.
  func form(usual: TraceFormat = .odotrace) throws(FleetError) -> TraceFormat {
    let named: TraceFormat? = if let output, format == nil { try TraceFormat.named(by: output) } else { nil }
    let form = format ?? named ?? usual
    if form != .csv, output ?? "-" == "-", isatty(STDOUT_FILENO) == 1 {
      throw .usage(
        "write", "\(form.rawValue) to the terminal", "name a file with --output, or use --format csv")
    }
    return form
  }

  /// Opens the output before anything is fetched.
  func open(inputs: [String] = [], shouldContinue: () -> Bool = { true }) throws(FleetError) -> OutputFile {
    try OutputFile(path: output, replaces: force, inputs: inputs, shouldContinue: shouldContinue)
  }
}

/// The conversion of a trace to an output format.
enum TraceDocument {
  /// Returns the converted trace.
  ///
  /// - Parameter title: the source of the trace.
  /// - Throws: `FleetError` for bytes that are not a trace, and for a trace without data for the format.
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
