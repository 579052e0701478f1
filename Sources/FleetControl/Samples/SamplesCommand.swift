package import ArgumentParser
package import Fleet
package import FleetConsole
internal import JSON
internal import Spatial
internal import Telemetry

/// The options of `odograph samples`.
package struct SamplesOptions: ParsableArguments {
  @OptionGroup(title: "Vehicle") package var vehicles: VehicleArguments

  @Option(help: ArgumentHelp("For how long; the vehicle says how long at most.", valueName: "seconds"))
  package var seconds = 10.0

  @Option(help: ArgumentHelp("Hz of each sensor; the vehicle says how many at most.", valueName: "hertz"))
  package var rate = 50.0

  @Option(
    help: ArgumentHelp(
      "accelerometer, gyroscope, magnetometer or barometer; repeat for several (default: all that are there).",
      valueName: "kind"),
    completion: .list(["accelerometer", "gyroscope", "magnetometer", "barometer"]))
  package var sensor: [String] = []

  @Option(
    name: .shortAndLong, help: ArgumentHelp("The file; one that is there is replaced.", valueName: "file"),
    completion: .file())
  package var output: String?

  @Option(
    help: ArgumentHelp("How long to wait for the first samples, and between them.", valueName: "seconds"))
  package var timeout = 30.0

  @OptionGroup(title: "Broker") package var broker: BrokerArguments

  package init() {}
}

/// Has a vehicle tell raw samples for a while, as a sensor recording in CSV.
package enum SamplesCommand {
  /// Seconds for which the newest rows wait for those of other sensors.
  private static let holdBack = 2.0

  /// Returns `.done` when all has come.
  /// - Throws: `FleetError` for options that make no sense, and a broker or vehicle that refuses.
  package static func run(_ options: SamplesOptions) throws(FleetError) -> ExitStatus {
    let arguments = try arguments(options)
    let question = try VehicleQuestion(
      options.broker, options.vehicles.targets(options.broker), command: "samples")
    defer { question.close() }
    question.ask(arguments, timeout: options.timeout)
    var file = try SampleFile(
      path: options.output, title: "odograph samples \(question.vehicle)", goesOn: false)
    var table: SampleTable?
    var expected: Int64 = 0
    while true {
      switch try question.answer(within: options.timeout) {
      case .interrupted(let status): return status
      case .timedOut:
        StandardError.say("nothing of \(question.vehicle) within \(options.timeout) s")
        return .timedOut
      case .problem(let problem):
        throw FleetError(
          operation: "get", object: "samples of \(question.vehicle)", cause: problem, exit: .unavailable)
      case .result(let result):
        let number = result["piece"]?.integer ?? 0
        guard number >= expected else { continue }
        guard number == expected else {
          throw HistoryCommand.malformed(question.vehicle, "piece \(expected) was lost on the way; ask again")
        }
        expected += 1
        var rows = table ?? SampleTable(kinds: kinds(result))
        rows.add(try HistoryCommand.piece(result, question.vehicle))
        let hasMore = result["more"]?.bool == true
        let text = rows.rows(holdingBack: hasMore ? holdBack : 0)
        if let origin = rows.origin {
          let start = UTCTime(nanoseconds: origin * 1000)
          if let ending = try file.begin(at: start, header: rows.header) { return ending }
        }
        if let ending = try file.write(text) { return ending }
        table = rows
        guard !hasMore else { continue }
        StandardError.say("\(rows.rowCount) rows of \(question.vehicle)")
        return .done
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
      throw .usage("wait", "\(options.timeout) s", "--timeout is 0.1 to 3600 seconds")
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

  /// The columns of the table are known from the first piece on.
  private static func kinds(_ result: JSONValue) -> [SamplePiece.Kind] {
    let told = (result["kinds"]?.array ?? []).compactMap { $0.string.flatMap(SamplePiece.Kind.init) }
    return told.isEmpty ? SamplePiece.Kind.allCases : told
  }
}
