public import Recordings
public import Sensors
public import Spatial

/// Reads a CAN log written by `candump -l`, and returns the readings of a `CANDecoder` in order of time.
///
/// - Timestamps are the log's time since `zero`, or since its first frame; earlier frames are ignored.
///   Timestamps are constant while the log's times run backwards.
/// - If a log contains several interfaces, only one is read. Blank lines and those that start with `#` or `;`
///   are ignored.
/// - A damaged line is an error that names it, except a last line without an end, which an interrupted logger
///   leaves.
public struct CandumpRecording: SensorRecording {
  public let name: String
  /// Empty, because a bus is read regardless of demands.
  public let kinds: Set<SensorKind> = []

  private var lines: LineReader
  private var decoder: CANDecoder
  private var interface: String?
  private var zero: UTCTime?
  private var now: Timestamp
  private var frameCount = 0

  /// - Parameters:
  ///   - interface: the only interface to read; nil reads the interface of the first frame.
  ///   - zero: civil time that corresponds to `startingAt`; nil uses that of the first frame.
  /// - Throws: `RecordingError` if the file cannot be opened.
  public init(
    path: String, decoder: CANDecoder, interface: String? = nil, zero: UTCTime? = nil,
    startingAt: Timestamp = Timestamp(nanoseconds: 0)
  ) throws(RecordingError) {
    name = path
    lines = try LineReader(path: path)
    self.decoder = decoder
    self.interface = interface
    self.zero = zero.map { UTCTime(nanoseconds: $0.nanoseconds &- startingAt.nanoseconds) }
    now = startingAt
  }

  public mutating func setDemand(_ demand: SensorDemand, for kind: SensorKind) {}

  /// Returns the readings of the next frame that contains requested signals; nil at the end.
  /// - Throws: `RecordingError` for a damaged line, and at the end of a file without any frame of the
  ///   interface. After a damaged line, reading can continue.
  public mutating func next() throws(RecordingError) -> SensorEvent? {
    while let line = try lines.next() {
      let first = line.first { $0 != UInt8(ascii: " ") }
      guard let first, first != UInt8(ascii: "#"), first != UInt8(ascii: ";") else { continue }
      guard let entry = CandumpLine(line) else {
        guard lines.lineWasTerminated else { continue }
        throw RecordingError(
          file: name, line: lines.lineNumber, problem: "is not a line of a candump log",
          remedy: "record it with candump -l; a line is (1436509052.249713) can0 123#DEADBEEF")
      }
      if interface == nil { interface = entry.interface }
      guard entry.interface == interface else { continue }
      frameCount += 1
      guard let time = place(entry.time) else { continue }
      let readings = decoder.process(entry.frame, at: time)
      if !readings.isEmpty { return .vehicle(readings) }
    }
    guard frameCount > 0 else {
      throw RecordingError(
        file: name, problem: "holds no frame" + (interface.map { " of \($0)" } ?? ""),
        remedy: "use a log of candump -l, and name an interface that it contains")
    }
    return nil
  }

  /// Converts a time of the log to a timestamp; nil for times before the start.
  private mutating func place(_ time: UTCTime) -> Timestamp? {
    let origin = zero?.nanoseconds ?? time.nanoseconds &- now.nanoseconds
    zero = UTCTime(nanoseconds: origin)
    let (elapsed, overflow) = time.nanoseconds.subtractingReportingOverflow(origin)
    guard !overflow, elapsed >= 0 else { return nil }
    now = max(now, Timestamp(nanoseconds: elapsed))
    return now
  }

  /// Returns the civil time of the first frame; nil if there is none, and for a log with relative times.
  /// - Throws: `RecordingError` if the file cannot be read.
  public static func firstTime(path: String) throws(RecordingError) -> UTCTime? {
    var lines = try LineReader(path: path)
    for _ in 0..<1000 {
      guard let line = try lines.next() else { return nil }
      // Times before the year 2000 are not civil times but relative to the start of the log.
      if let entry = CandumpLine(line) {
        return entry.time.secondsSince1970 > 946_684_800 ? entry.time : nil
      }
    }
    return nil
  }
}
