package import ArgumentParser
package import Fleet
package import FleetCommand
internal import JSON
internal import Spatial
internal import Telemetry

/// The options of `odograph history`.
package struct HistoryOptions: BrokerOptions {
  @OptionGroup(title: "Vehicle") package var vehicles: VehicleArguments

  @Option(help: ArgumentHelp("Start, RFC 3339.", valueName: "time"))
  package var from: String

  @Option(help: ArgumentHelp("End, RFC 3339 (default: now).", valueName: "time"))
  package var to: String?

  @Option(
    name: .shortAndLong,
    help: ArgumentHelp("Output file; an existing one is resumed.", valueName: "file"),
    completion: .file())
  package var output: String?

  @Option(help: ArgumentHelp("Time limit for each piece.", valueName: "seconds"))
  package var timeout = 30.0

  @OptionGroup(title: "Broker") package var broker: BrokerArguments

  package init() {}
}

/// The `odograph history` command: downloads the data of a vehicle's accelerometer recorder for a time range,
/// piece by piece, into a sensor recording in CSV.
package enum HistoryCommand {
  /// The number of attempts for a piece.
  private static let attempts = 3

  /// Runs the command. Returns `.done` if all data of the vehicle for the time range are written.
  /// - Throws: `FleetError` for invalid options, a broker or vehicle that rejects the request, and a file
  ///   with other data.
  package static func run(_ options: HistoryOptions) throws(FleetError) -> ExitStatus {
    let from = try time(options.from, "--from")
    let to = try options.to.map { text throws(FleetError) in try time(text, "--to") }
    if let to, to < from { throw .usage("use", "--to", "must not be before --from") }
    guard (0.1...3600).contains(options.timeout) else {
      throw .usage("wait", "\(options.timeout) s", "--timeout must be 0.1 to 3600 seconds")
    }
    let question = try VehicleQuestion(
      options.broker, options.vehicles.targets(options.broker), command: "history")
    defer { question.close() }
    let title = "odograph history \(question.vehicle) from \(from.rfc3339)"
    var signal: ExitStatus?
    func shouldContinue() -> Bool {
      signal = signal ?? question.interruption()
      return signal == nil
    }
    var file: SampleFile
    do throws(FleetError) {
      file = try SampleFile(path: options.output, title: title, shouldContinue: shouldContinue)
    } catch {
      if let signal { return signal }
      throw error
    }
    var table = SampleTable(kinds: [.accelerometer], origin: file.origin, last: file.last)
    let isResumed = file.last != nil
    // Times in requests have a resolution of a millisecond, so rows that are already in the file can be sent
    // again; they are skipped.
    var cursor = file.last.map { UTCTime(nanoseconds: $0 * 1000).rfc3339 } ?? from.rfc3339
    var failures = 0
    var recorded: JSONValue?
    var progress = ProgressLine()
    defer { progress.clear() }
    while true {
      var arguments: [String: JSONValue] = ["from": .string(cursor)]
      if let to { arguments["to"] = .string(to.rfc3339) }
      question.ask(arguments, timeout: options.timeout)
      switch try question.answer(within: options.timeout) {
      case .interrupted(let status): return status
      case .problem(let problem):
        throw FleetError(
          operation: "fetch", object: "the history of \(question.vehicle)", cause: problem, kind: .unavailable
        )
      case .timedOut:
        failures += 1
        guard failures < attempts else {
          progress.clear()
          StandardError.report(
            "no answer within \(Self.attempts) times \(options.timeout) s, from \(cursor) on; "
              + "the same command resumes here")
          return .timedOut
        }
      case .result(let result):
        failures = 0
        recorded = result["recorded"] ?? recorded
        table.add(try piece(result, question.vehicle))
        if let origin = table.origin {
          let start = UTCTime(nanoseconds: origin * 1000)
          guard try file.begin(at: start, header: table.header, shouldContinue: shouldContinue) else {
            return signal ?? .done
          }
        }
        guard try file.write(table.rows(), shouldContinue: shouldContinue) else { return signal ?? .done }
        progress.show { "\(table.rowCount) samples, up to \(result["next"]?.string ?? "the end")" }
        guard let next = result["next"]?.string else {
          progress.clear()
          return try finish(table, isResumed, recorded, question.vehicle, from: from, options)
        }
        guard let time = UTCTime(rfc3339: next), time > UTCTime(rfc3339: cursor) ?? from else {
          throw malformed(question.vehicle, "\"next\" is \(next.prefix(40)), which is not after \(cursor)")
        }
        cursor = time.rfc3339
      }
    }
  }

  private static func finish(
    _ table: SampleTable, _ isResumed: Bool, _ recorded: JSONValue?, _ vehicle: VehicleKey, from: UTCTime,
    _ options: HistoryOptions
  ) throws(FleetError) -> ExitStatus {
    guard table.rowCount > 0 || isResumed else {
      let there =
        recorded.map { "it has \($0["from"]?.string ?? "?") to \($0["to"]?.string ?? "?")" }
        ?? "no samples recorded yet"
      throw FleetError(
        operation: "find", object: "samples of \(vehicle) from \(from.rfc3339) to \(options.to ?? "now")",
        cause: there, kind: .unavailable)
    }
    let end = table.last.map { ", up to \(UTCTime(nanoseconds: $0 * 1000).rfc3339)" } ?? ""
    StandardError.report("\(table.rowCount)\(isResumed ? " more" : "") samples of \(vehicle)\(end)")
    return .done
  }

  private static func time(_ text: String, _ option: String) throws(FleetError) -> UTCTime {
    guard let time = UTCTime(rfc3339: text) else {
      throw .usage("use", "\(option) \(text.prefix(60))", "write a time as in 2026-11-21T08:00:00Z")
    }
    return time
  }

  static func piece(_ result: JSONValue, _ vehicle: VehicleKey) throws(FleetError) -> SamplePiece {
    do throws(JSONError) {
      return try SamplePiece(json: result["samples"] ?? .null)
    } catch { throw malformed(vehicle, error.description) }
  }

  static func malformed(_ vehicle: VehicleKey, _ problem: String) -> FleetError {
    FleetError(operation: "read", object: "the answer of \(vehicle)", cause: problem, kind: .unavailable)
  }
}
