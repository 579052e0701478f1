public import Recordings
public import Sensors
public import Spatial

/// Position fixes from a log of gpsd's own reports, one JSON object a line, as `gpspipe -w` writes it.
///
/// - The lines go through the same decoder as a live session's. Lines that do not begin with `{` (raw sentences,
///   comments) are passed over.
/// - One fix for each TPV. `PositionFix.time` is as recorded; `timestamp` is the receiver's time since its first
///   one, plus `startingAt`, and stands still while the recorded time runs backwards or is absent.
/// - A damaged report is an error that names its line, except a last line without an end, which a recorder that was
///   cut off leaves.
public struct GPSDLogRecording: SensorRecording {
  public let name: String
  public let kinds: Set<SensorKind> = [.positioning]

  private var lines: LineReader
  private let decoder = GPSDReportDecoder()
  private var assembler = GPSDFixAssembler()
  private var gate = DemandGate()
  private var clock: RecordingClock
  private var lastTimestamp: Timestamp?
  private var reportCount = 0

  /// - Throws: `RecordingError` when the file cannot be opened.
  public init(path: String, startingAt: Timestamp = Timestamp(nanoseconds: 0)) throws(RecordingError) {
    name = path
    lines = try LineReader(path: path)
    clock = RecordingClock(origin: startingAt)
  }

  public mutating func setDemand(_ demand: SensorDemand, for kind: SensorKind) {
    if kind == .positioning { gate.setDemand(demand, at: lastTimestamp) }
  }

  /// The next fix, alone in its block.
  /// - Throws: `RecordingError` for a damaged line, a line that is too long, and at the end of a file that held no
  ///   report at all. After a damaged line the recording can be read on.
  public mutating func next() throws(RecordingError) -> SensorEvent? {
    while let line = try lines.next() {
      guard line.first == UInt8(ascii: "{") else { continue }
      guard let report = decoder.decode(line) else {
        guard lines.lineWasTerminated else { continue }
        throw RecordingError(
          file: name, line: lines.lineNumber, problem: "is not a report of gpsd in JSON",
          remedy: "the log is damaged here; record it again with gpspipe -w")
      }
      reportCount += 1
      if let event = event(of: report) { return event }
    }
    guard reportCount > 0 else {
      throw RecordingError(
        file: name, problem: "holds no report of gpsd in JSON", remedy: "give a log made with gpspipe -w")
    }
    return nil
  }

  private mutating func event(of report: GPSDReport) -> SensorEvent? {
    switch report {
    case .sky(let sky):
      assembler.update(sky, at: clock.timestamp(for: nil))
      return nil
    case .fix(let report):
      let timestamp = clock.timestamp(for: report.time)
      lastTimestamp = timestamp
      guard gate.admits(timestamp) else { return nil }
      return .position([assembler.fix(report, at: timestamp)])
    default: return nil
    }
  }
}
