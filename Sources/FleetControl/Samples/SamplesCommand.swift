package import ArgumentParser
package import Fleet
package import FleetCommand
internal import JSON
internal import Spatial
internal import Telemetry

/// The options of `odograph samples`.
package struct SamplesOptions: BrokerOptions {
  @OptionGroup(title: "Vehicle") package var vehicles: VehicleArguments

  @Option(help: ArgumentHelp("Duration; the vehicle limits it.", valueName: "seconds"))
  package var seconds = 10.0

  @Option(help: ArgumentHelp("Rate of each sensor in Hz; the vehicle limits it.", valueName: "hertz"))
  package var rate = 50.0

  @Option(
    help: ArgumentHelp(
      "accelerometer, gyroscope, magnetometer or barometer; repeat for several (default: all available).",
      valueName: "kind"),
    completion: .list(["accelerometer", "gyroscope", "magnetometer", "barometer"]))
  package var sensor: [String] = []

  @Option(
    name: .shortAndLong,
    help: ArgumentHelp("The file to write (default: standard output).", valueName: "file"),
    completion: .file())
  package var output: String?

  @Flag(help: "Replace an existing file.")
  var force = false

  @Option(
    help: ArgumentHelp("Time limit for the first samples, and between samples.", valueName: "seconds"))
  package var timeout = 30.0

  @OptionGroup(title: "Broker") package var broker: BrokerArguments

  package init() {}
}

/// The `odograph samples` command: requests raw samples of a vehicle for a while, as a sensor recording in
/// CSV.
package enum SamplesCommand {
  /// The seconds for which the newest rows wait for samples of other sensors.
  private static let holdBack = 2.0

  /// Runs the command. Returns `.done` if all samples arrived; samples that arrived before a signal or
  /// timeout are written, too.
  /// - Throws: `FleetError` for invalid options, an output that is not writable, and a broker or vehicle that
  ///   rejects the request.
  package static func run(_ options: SamplesOptions) throws(FleetError) -> ExitStatus {
    let arguments = try arguments(options)
    let question = try VehicleQuestion(
      options.broker, options.vehicles.targets(options.broker), command: "samples")
    defer { question.close() }
    var signal: ExitStatus?
    do throws(FleetError) {
      // The output is opened before the request is sent, because the request is useless without an output.
      var output = try OutputFile(path: options.output, replaces: options.force) {
        signal = signal ?? question.interruption()
        return signal == nil
      }
      question.ask(arguments, timeout: options.timeout)
      return try write(options, question, to: &output)
    } catch {
      if let signal { return signal }
      throw error
    }
  }

  private static func write(
    _ options: SamplesOptions, _ question: VehicleQuestion, to output: inout OutputFile
  ) throws(FleetError) -> ExitStatus {
    var table: SampleTable?
    var expected: Int64 = 0
    var signal: ExitStatus?
    func shouldContinue() -> Bool {
      signal = signal ?? question.interruption()
      return signal == nil
    }
    /// Writes rows. Returns false if the reader has closed the output, or after a signal.
    func writeRows(holdingBack seconds: Double) throws(FleetError) -> Bool {
      let isFirst = table?.rowCount == 0
      guard let rows = table?.rows(holdingBack: seconds), !rows.isEmpty, let table, let origin = table.origin
      else { return true }
      let head =
        isFirst
        ? SampleFile.head(
          "odograph samples \(question.vehicle)", at: UTCTime(nanoseconds: origin * 1000),
          header: table.header)
        : ""
      return try output.write(Array((head + rows).utf8), shouldContinue: shouldContinue)
    }
    func finish(_ ending: ExitStatus) throws(FleetError) -> ExitStatus {
      guard try writeRows(holdingBack: 0), let table, table.rowCount > 0 else { return signal ?? ending }
      try output.finish()
      let late = table.lateCount > 0 ? ", \(table.lateCount) late ones omitted" : ""
      StandardError.report("\(table.rowCount) rows of \(question.vehicle)\(late)")
      return ending
    }
    while true {
      switch try question.answer(within: options.timeout) {
      case .interrupted(let status): return try finish(status)
      case .timedOut:
        StandardError.report(
          "no samples of \(question.vehicle) within \(options.timeout) s; "
            + "check with odograph watch whether it is online, or wait longer with --timeout")
        return try finish(.timedOut)
      case .problem(let problem):
        throw FleetError(
          operation: "get", object: "samples of \(question.vehicle)", cause: problem, kind: .unavailable)
      case .result(let result):
        let number = result["piece"]?.integer ?? 0
        guard number >= expected else { continue }
        guard number == expected else {
          throw HistoryCommand.malformed(question.vehicle, "piece \(expected) was lost; retry")
        }
        expected += 1
        let piece = try HistoryCommand.piece(result, question.vehicle)
        table = table ?? SampleTable(kinds: kinds(result))
        table?.add(piece)
        guard result["more"]?.bool == true else { return try finish(.done) }
        guard try writeRows(holdingBack: holdBack) else { return signal ?? .done }
      }
    }
  }

  private static func arguments(_ options: SamplesOptions) throws(FleetError) -> [String: JSONValue] {
    guard (0.1...86_400).contains(options.seconds) else {
      throw .usage("use", "--seconds \(options.seconds)", "give 0.1 to 86400 seconds")
    }
    guard (0.1...100_000).contains(options.rate) else {
      throw .usage("use", "--rate \(options.rate)", "give 0.1 to 100000 Hz")
    }
    guard (0.1...3600).contains(options.timeout) else {
      throw .usage("wait", "\(options.timeout) s", "--timeout must be 0.1 to 3600 seconds")
    }
    var members: [String: JSONValue] = ["seconds": .number(options.seconds), "rate": .number(options.rate)]
    for name in options.sensor where SamplePiece.Kind(rawValue: name) == nil {
      throw .usage(
        "use", "--sensor \(name.prefix(40))",
        "the sensors are \(SamplePiece.Kind.allCases.map(\.rawValue).joined(separator: ", "))")
    }
    if !options.sensor.isEmpty { members["kinds"] = .array(options.sensor.map(JSONValue.string)) }
    return members
  }

  /// Returns the sensors of the table's columns, which the first piece determines.
  private static func kinds(_ result: JSONValue) -> [SamplePiece.Kind] {
    let told = (result["kinds"]?.array ?? []).compactMap { $0.string.flatMap(SamplePiece.Kind.init) }
    return told.isEmpty ? SamplePiece.Kind.allCases : told
  }
}
