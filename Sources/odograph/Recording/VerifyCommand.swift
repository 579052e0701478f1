internal import Fleet
internal import FleetCommand
internal import FleetManagement
internal import FleetProgram
internal import FleetStore
internal import Glibc
internal import JSON
internal import MQTT
internal import Telemetry

/// The `odograph verify` command: compares the messages that a simulated fleet has sent with those that
/// arrived at a consumer, by sequence number.
enum VerifyCommand {
  /// The maximum size of a file with sent numbers in bytes. A file needs about a hundred bytes per vehicle.
  private static let longestFile = 1 << 30

  /// Runs the command.
  ///
  /// - Throws: `FleetError` for an invalid file, and for an unreadable recording.
  static func run(_ options: Verify) throws(FleetError) -> ExitStatus {
    signal(SIGPIPE, SIG_IGN)
    guard options.lines == nil || options.recording.isEmpty else {
      throw .usage("use", "--lines", "it cannot be combined with --recording")
    }
    var told: [SentNumbersFile] = []
    for path in options.told {
      told.append(try SentNumbersFile(try InputFile.read(path, limit: longestFile), of: path))
    }
    let monitor = WorkMonitor(try CommandWaiter(), isQuiet: options.isJSON)
    var count = try ArrivalCount(told.flatMap(\.numbers))
    do throws(FleetError) {
      if let lines = options.lines {
        try read(lines, roots: Set(told.map(\.root)), into: &count, monitor)
      } else {
        for place in places(options) { try read(recording: place, into: &count, monitor) }
      }
    } catch {
      // A signal makes the current operation fail; the failure itself is not an error.
      guard monitor.ending != nil else { throw error }
    }
    monitor.clear()
    if let ending = monitor.ending { return try ending.status() }
    let result = count.result
    let text = options.isJSON ? json(result) : Array(lines(result).utf8)
    try CommandOutput.print(text)
    return result.isWhole ? .done : .differs
  }

  private static func places(_ options: Verify) -> [String] {
    options.recording.isEmpty ? [environment("ODOGRAPH_STORE") ?? "odograph.sqlite"] : options.recording
  }

  private static func read(
    recording place: String, into count: inout ArrivalCount, _ monitor: WorkMonitor
  ) throws(FleetError) {
    let recording = try RecordingAddress.open(place) { monitor.shouldContinue() }
    var numbers: ArrivalCount = count
    try recording.readNumbers(of: count.fleets) { vehicle, epoch, seq throws(FleetError) in
      numbers.observe(vehicle, epoch: epoch, seq: seq)
      return monitor.shouldContinue()
    }
    count = numbers
  }

  /// Counts the messages in a file of `odograph tail`. Retained messages are not counted: they also arrived
  /// when they were published, and would appear as duplicates.
  private static func read(
    _ path: String, roots: Set<String>, into count: inout ArrivalCount, _ monitor: WorkMonitor
  ) throws(FleetError) {
    var input = try LineInput(path)
    var number = 0
    while let bytes = try input.next(while: { monitor.shouldContinue() }) {
      number += 1
      guard let json = try? JSONValue(parsing: bytes), let topic = json["topic"]?.string else {
        throw .usage("read", "\(path), line \(number)", "not a line of odograph tail")
      }
      guard json["retain"] != .bool(true), let payload = json["payload"],
        let epoch = payload["epoch"]?.string, let seq = payload["seq"]?.integer
      else { continue }
      for root in roots {
        guard let address = MessageProfile.native.address(of: topic, root: root) else { continue }
        count.observe(
          VehicleKey(fleet: address.fleet, vehicle: address.vehicle), epoch: epoch, seq: seq)
        break
      }
    }
  }

  private static func lines(_ result: ArrivalResult) -> String {
    var text = ""
    for odd in result.odd {
      let parts = [("missing", odd.missing), ("doubled", odd.doubled), ("not sent", odd.untold)]
      let counts = parts.filter { !$0.1.isEmpty }.map { "\($0.0) \(ArrivalResult.text($0.1))" }
      text += "\(odd.vehicle), epoch \(odd.epoch): \(counts.joined(separator: "; "))\n"
    }
    return text + result.sentence + "\n"
  }

  private static func json(_ result: ArrivalResult) -> [UInt8] {
    JSONWriter.object { json in
      json.field("vehicles", result.vehicles)
      json.field("acknowledged", result.acknowledged)
      json.field("arrived", result.arrived)
      json.field("missing", result.missing)
      json.field("doubled", result.doubled)
      json.field("untold", result.untold)
      json.field("unacknowledged", result.unacknowledged)
      json.field("unacknowledgedArrived", result.unacknowledgedArrived)
      json.field("odd", objects: result.odd) { json, odd in
        json.field("fleet", odd.vehicle.fleet)
        json.field("vehicle", odd.vehicle.vehicle)
        json.field("epoch", odd.epoch)
        json.field("missing", ArrivalResult.text(odd.missing))
        json.field("doubled", ArrivalResult.text(odd.doubled))
        json.field("untold", ArrivalResult.text(odd.untold))
      }
    } + [0x0A]
  }
}
