internal import Fleet
internal import FleetCommand
internal import FleetManagement
internal import FleetProgram
internal import FleetStore
internal import Glibc
internal import JSON
internal import MQTT
internal import Platform
internal import Spatial
internal import Telemetry
internal import Traces

extension TraceCommand {
  /// Requests a vehicle to store a trace of the time around a given moment, and prints the trace's number.
  /// - Throws: `FleetError` for invalid options, an unreachable broker, and a vehicle that rejects the
  ///   request.
  static func request(_ options: Trace.Request) throws(FleetError) -> ExitStatus {
    let arguments = try options.arguments()
    signal(SIGPIPE, SIG_IGN)
    let question = try VehicleQuestion(
      options.broker,
      VehicleTargets(
        root: options.broker.topicRoot, fleets: options.broker.fleets(options.fleet),
        vehicles: [options.vehicle]), command: "trace")
    defer { question.close() }
    question.ask(arguments, timeout: options.timeout)
    switch try question.answer(within: options.timeout) {
    case .interrupted(let signal): return ExitStatus(signal: signal)
    case .timedOut:
      StandardError.report(
        "\(question.vehicle) has not answered within \(options.timeout) s; see with odograph watch whether it is online"
      )
      return .timedOut
    case .problem(let problem):
      throw FleetError(
        operation: "have", object: "a trace of \(question.vehicle)", cause: problem, kind: .unavailable)
    case .result(let result):
      try CommandOutput.print(try line(result, of: question.vehicle, asJSON: options.json))
      if !options.json {
        StandardError.report(
          "odograph trace wait \(question.vehicle.vehicle) \(result["number"]?.double.map { "\(Int($0))" } ?? "") waits for it"
        )
      }
      return .done
    }
  }

  private static func line(
    _ result: JSONValue, of vehicle: VehicleKey, asJSON: Bool
  ) throws(FleetError) -> [UInt8] {
    guard let number = result["number"]?.double, (1...1e15).contains(number),
      let series = result["series"]?.string,
      let time = result["time"]?.string.flatMap({ UTCTime(rfc3339: $0) }),
      let before = result["before"]?.double, let after = result["after"]?.double
    else {
      throw FleetError(
        operation: "read", object: "the answer of \(vehicle)", cause: "it does not identify the trace",
        kind: .unavailable)
    }
    guard asJSON else {
      let text = "\(vehicle)  trace \(Int(number))  \(time.rfc3339)  "
      let span = "\(ExportText.decimal(before, 2)) s before, \(ExportText.decimal(after, 2)) s after"
      return Array((text + span + "\n").utf8)
    }
    return JSONWriter.object { json in
      json.field("fleet", vehicle.fleet)
      json.field("vehicle", vehicle.vehicle)
      json.field("series", series)
      json.field("number", Int(number))
      json.field("time", time.rfc3339)
      json.field("before", before, decimals: 2)
      json.field("after", after, decimals: 2)
    } + [UInt8(ascii: "\n")]
  }
}
