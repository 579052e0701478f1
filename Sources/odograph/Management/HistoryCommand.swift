internal import Fleet
internal import FleetCommand
internal import FleetManagement
internal import FleetProgram
internal import JSON
internal import Spatial
internal import Telemetry

/// The `odograph history` command: downloads the data of a vehicle's accelerometer recorder for a time range,
/// piece by piece, into a sensor recording in CSV.
enum HistoryCommand {
  /// The number of attempts for a piece.
  private static let attempts = 3

  /// Runs the command. Returns `.done` if all data of the vehicle for the time range are written.
  /// - Throws: `FleetError` for invalid options, a broker or vehicle that rejects the request, and a file
  ///   with other data.
  static func run(_ options: History) throws(FleetError) -> ExitStatus {
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
    var stop = StopSignal(question)
    var file: SampleFile
    do throws(FleetError) {
      file = try SampleFile(path: options.output, title: title) { stop.shouldContinue() }
    } catch {
      if let status = stop.status { return status }
      throw error
    }
    var download = HistoryDownload(
      of: question.vehicle, from: from, to: to, origin: file.origin, last: file.last)
    let isResumed = file.last != nil
    var failures = 0
    var progress = ProgressLine()
    defer { progress.clear() }
    while let cursor = download.cursor {
      question.ask(download.arguments, timeout: options.timeout)
      switch try question.answer(within: options.timeout) {
      case .interrupted(let signal): return ExitStatus(signal: signal)
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
        try download.add(result)
        if let origin = download.table.origin {
          let start = UTCTime(nanoseconds: origin * 1000)
          let hasBegun = try file.begin(at: start, header: download.table.header) { stop.shouldContinue() }
          guard hasBegun else { return stop.status ?? .done }
        }
        let isWritten = try file.write(download.rows()) { stop.shouldContinue() }
        guard isWritten else { return stop.status ?? .done }
        progress.show { "\(download.table.rowCount) samples, up to \(result["next"]?.string ?? "the end")" }
        try download.proceed(after: result)
      }
    }
    progress.clear()
    return try finish(download, isResumed, question.vehicle, from: from, options)
  }

  private static func finish(
    _ download: HistoryDownload, _ isResumed: Bool, _ vehicle: VehicleKey, from: UTCTime,
    _ options: History
  ) throws(FleetError) -> ExitStatus {
    let table = download.table
    guard table.rowCount > 0 || isResumed else {
      let there =
        download.recorded.map { "it has \($0["from"]?.string ?? "?") to \($0["to"]?.string ?? "?")" }
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
}
