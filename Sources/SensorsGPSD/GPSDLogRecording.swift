internal import JSON
public import Recordings
public import Sensors
public import Spatial

/// Reads position fixes from a log of gpsd's own reports, one JSON object per line, as written by `gpspipe
/// -w`.
///
/// - The decoder is that of a live session. White space is ignored: a report can span lines, and reports can
///   be elements of an array. Lines outside of a report that do not start with `{` (raw sentences, comments)
///   are ignored.
/// - One fix for each TPV of one receiver, chosen as in a live session. `PositionFix.time` is as recorded; `timestamp` is the receiver's time since its
///   first one, plus `startingAt`. It is constant while the recorded time runs backwards or is missing.
/// - A damaged report is skipped and counted, except a last line without an end, which an interrupted
///   recorder leaves.
/// - A file without any position is an error.
public struct GPSDLogRecording: SensorRecording {
  public let name: String
  public let kinds: Set<SensorKind> = [.positioning]

  private var lines: LineReader
  private let decoder = GPSDReportDecoder()
  private var assembler = GPSDFixAssembler()
  private var choice = ReceiverChoice()
  private var gate = DemandGate()
  private var clock: RecordingClock
  private var lastTimestamp: Timestamp?
  private var progress = ReadingProgress()
  /// The start of a report that spans lines, and its first line.
  private var open: [UInt8] = []
  private var openLine = 0

  /// - Throws: `RecordingError` if the file cannot be opened.
  public init(path: String, startingAt: Timestamp = Timestamp(nanoseconds: 0)) throws(RecordingError) {
    name = path
    lines = try LineReader(path: path)
    clock = RecordingClock(origin: startingAt)
  }

  public var skipped: SkippedInput? { progress.skipped }

  public mutating func setDemand(_ demand: SensorDemand, for kind: SensorKind) {
    if kind == .positioning { gate.setDemand(demand, at: lastTimestamp) }
  }

  /// Returns the next fix, alone in its block.
  /// - Throws: `RecordingError` for a line that is too long, and at the end of a file without any position.
  public mutating func next() throws(RecordingError) -> SensorEvent? {
    while let line = try lines.next() {
      guard let report = report(line) else { continue }
      if case .fix(let fix) = report, fix.latitude != nil, fix.longitude != nil {
        progress.hasPosition = true
      }
      if let event = event(of: report) { return event }
    }
    if lines.lineWasTerminated { skipOpen() }
    try progress.finish(name, remedy: "use a log of gpspipe -w from a receiver with a fix")
    return nil
  }

  /// Returns the report completed by a line; nil if the report continues in the next line, and for lines that
  /// belong to no report.
  private mutating func report(_ line: ArraySlice<UInt8>) -> GPSDReport? {
    let text = Self.trimmed(line)
    // If a new report starts although the previous one is incomplete, the previous one is damaged.
    if text.first == UInt8(ascii: "{"),
      open.isEmpty || line.first == UInt8(ascii: "{") || decoder.decode(text) != nil
    {
      skipOpen()
      openLine = lines.lineNumber
    } else if open.isEmpty {
      return nil
    }
    open += text
    let endsElement = open.last == UInt8(ascii: ",") || open.last == UInt8(ascii: "]")
    if let report = decoder.decode(open[...]) ?? (endsElement ? decoder.decode(open.dropLast()) : nil) {
      open = []
      return report
    }
    if !Self.endsEarly(open) || open.count > LineReader.longestLine, lines.lineWasTerminated { skipOpen() }
    return nil
  }

  private mutating func skipOpen() {
    guard !open.isEmpty else { return }
    progress.skip(
      RecordingError(
        file: name, line: openLine, problem: "is not a report of gpsd in JSON (\(excerpt(open)))",
        remedy: "delete it, or record again with gpspipe -w"))
    open = []
  }

  /// Returns a line without surrounding white space and without the opening bracket of an array.
  private static func trimmed(_ line: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
    var text = line.drop { $0 <= 0x20 || $0 == UInt8(ascii: "[") }
    while let last = text.last, last <= 0x20 { text.removeLast() }
    return text
  }

  /// Returns whether the bytes are an incomplete start of JSON.
  private static func endsEarly(_ bytes: [UInt8]) -> Bool {
    if case .invalid(let offset) = JSONScan(bytes.span) { return offset >= bytes.count }
    return false
  }

  private mutating func event(of report: GPSDReport) -> SensorEvent? {
    switch report {
    case .sky(let sky):
      assembler.update(sky, at: clock.timestamp(for: nil))
      return nil
    case .fix(let report):
      let timestamp = clock.timestamp(for: report.time)
      lastTimestamp = timestamp
      let fix = assembler.fix(report, at: timestamp)
      guard choice.admits(fix), gate.admits(timestamp) else { return nil }
      return .position([fix])
    case .devices(let devices):
      choice.retain(devices.map(\.path))
      return nil
    case .device(let device):
      if !device.isActive { choice.remove(device.path) }
      return nil
    default: return nil
    }
  }
}
