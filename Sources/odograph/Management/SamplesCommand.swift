internal import Fleet
internal import FleetCommand
internal import FleetManagement
internal import FleetProgram
internal import JSON
internal import Spatial
internal import Telemetry

/// The `odograph samples` command: requests raw samples of a vehicle for a while, as a sensor recording in
/// CSV.
enum SamplesCommand {
  /// Runs the command. Returns `.done` if all samples arrived; samples that arrived before a signal or
  /// timeout are written, too.
  /// - Throws: `FleetError` for invalid options, an output that is not writable, and a broker or vehicle that
  ///   rejects the request.
  static func run(_ options: Samples) throws(FleetError) -> ExitStatus {
    let request = try request(options)
    let question = try VehicleQuestion(
      options.broker, options.vehicles.targets(options.broker), command: "samples")
    defer { question.close() }
    var stop = StopSignal(question)
    do throws(FleetError) {
      // The output is opened before the request is sent, because the request is useless without an output.
      var output = try OutputFile(path: options.output, replaces: options.force) { stop.shouldContinue() }
      question.ask(request.arguments, timeout: options.timeout)
      return try write(options, question, to: &output, &stop)
    } catch {
      if let status = stop.status { return status }
      throw error
    }
  }

  private static func write(
    _ options: Samples, _ question: VehicleQuestion, to output: inout OutputFile,
    _ stop: inout StopSignal
  ) throws(FleetError) -> ExitStatus {
    var stream = SampleRows(of: question.vehicle)
    var ending: ExitStatus?
    while ending == nil {
      switch try question.answer(within: options.timeout) {
      case .interrupted(let signal): ending = ExitStatus(signal: signal)
      case .timedOut:
        StandardError.report(
          "no samples of \(question.vehicle) within \(options.timeout) s; "
            + "check with odograph watch whether it is online, or wait longer with --timeout")
        ending = .timedOut
      case .problem(let problem):
        throw FleetError(
          operation: "get", object: "samples of \(question.vehicle)", cause: problem, kind: .unavailable)
      case .result(let result):
        try stream.add(result)
        if stream.isComplete { ending = .done }
      }
      let rows = stream.rows(isLast: ending != nil)
      let isWritten = try output.write(Array(rows.utf8)) { stop.shouldContinue() }
      guard isWritten else { return stop.status ?? ending ?? .done }
    }
    guard let table = stream.table, table.rowCount > 0 else { return stop.status ?? ending ?? .done }
    try output.finish()
    let late = table.lateCount > 0 ? ", \(table.lateCount) late ones omitted" : ""
    StandardError.report("\(table.rowCount) rows of \(question.vehicle)\(late)")
    return ending ?? .done
  }

  private static func request(_ options: Samples) throws(FleetError) -> SampleRequest {
    guard (0.1...86_400).contains(options.seconds) else {
      throw .usage("use", "--seconds \(options.seconds)", "give 0.1 to 86400 seconds")
    }
    guard (0.1...100_000).contains(options.rate) else {
      throw .usage("use", "--rate \(options.rate)", "give 0.1 to 100000 Hz")
    }
    guard (0.1...3600).contains(options.timeout) else {
      throw .usage("wait", "\(options.timeout) s", "--timeout must be 0.1 to 3600 seconds")
    }
    var request = SampleRequest(seconds: options.seconds, rate: options.rate)
    for name in options.sensor {
      guard let kind = SamplePiece.Kind(rawValue: name) else {
        throw .usage(
          "use", "--sensor \(name.prefix(40))",
          "the sensors are \(SamplePiece.Kind.allCases.map(\.rawValue).joined(separator: ", "))")
      }
      request.kinds.append(kind)
    }
    return request
  }
}

/// The signal that stops a command which is blocked by its output.
struct StopSignal {
  private let question: VehicleQuestion
  /// The exit status of a signal that has arrived; nil before.
  private(set) var status: ExitStatus?

  init(_ question: VehicleQuestion) { self.question = question }

  /// Returns whether no signal has arrived.
  mutating func shouldContinue() -> Bool {
    status = status ?? question.interruption().map { ExitStatus(signal: $0) }
    return status == nil
  }
}
