public import Sensors
public import Spatial

/// Reads position fixes from a receiver's NMEA 0183 log, one for each time in its sentences.
///
/// - RMC, GGA, GNS, GLL, GSA, GSV, VTG and ZDA of any talker are read; other sentences, comments and binary
///   data are ignored. RMC status V, GLL status V and GGA quality 0 mean that there is no fix: such an epoch
///   has no position, even if sentences repeat one.
/// - `PositionFix.time` is as recorded. `timestamp` is the receiver's time since its first one, plus
///   `startingAt`. It is constant while the receiver's time runs backwards (`RecordingClock`).
/// - The date comes from RMC or ZDA. Before the first of these sentences the date is `startDate`, and the day
///   advances when the time of day passes midnight. Without a `startDate`, `time` is nil until then, but
///   `timestamp` advances.
/// - A sentence with a wrong or missing checksum, as after a serial line lost characters, is skipped and
///   counted. Without `toleratingBrokenSentences` it is an error that names its line. A last line without an
///   end is ignored, because an interrupted recorder leaves it.
/// - A file without any position is an error.
public struct NMEARecording: SensorRecording {
  public let name: String
  public let kinds: Set<SensorKind> = [.positioning]
  /// Number of sentences skipped because of their checksum.
  public var brokenSentenceCount: Int { progress.skipped?.count ?? 0 }
  public var skipped: SkippedInput? { progress.skipped }

  private var lines: LineReader
  private let toleratesBrokenSentences: Bool
  private var gate = DemandGate()
  private var clock: RecordingClock
  private var calendar: NMEACalendar
  private var satellites = NMEASatelliteCount()
  private var epoch = NMEAEpoch()
  private var progress = ReadingProgress()
  private var lastTimestamp: Timestamp?
  private var isFinished = false

  /// - Parameters:
  ///   - path: path of the log.
  ///   - startDate: any time on the day on which the log starts (UTC); required only for logs without RMC and
  ///     ZDA.
  ///   - startingAt: timestamp of the first fix.
  ///   - toleratingBrokenSentences: true to skip sentences with a bad checksum instead of failing.
  /// - Throws: `RecordingError` if the file cannot be opened.
  public init(
    path: String, startDate: UTCTime? = nil, startingAt: Timestamp = Timestamp(nanoseconds: 0),
    toleratingBrokenSentences: Bool = true
  ) throws(RecordingError) {
    name = path
    lines = try LineReader(path: path)
    toleratesBrokenSentences = toleratingBrokenSentences
    clock = RecordingClock(origin: startingAt)
    calendar = NMEACalendar(startDate: startDate)
  }

  public mutating func setDemand(_ demand: SensorDemand, for kind: SensorKind) {
    if kind == .positioning { gate.setDemand(demand, at: lastTimestamp) }
  }

  /// Returns the next fix, in a block of its own; nil at the end.
  /// - Throws: `RecordingError` for a broken sentence that is not tolerated, a line that is too long, and at
  ///   the end of a file without any position. After a broken sentence, reading can continue.
  public mutating func next() throws(RecordingError) -> SensorEvent? {
    while !isFinished {
      guard let sentence = try nextSentence() else {
        if let fix = closeEpoch() { return .position([fix]) }
        isFinished = true
        try progress.finish(name, remedy: "give the NMEA log of a receiver with a fix")
        return nil
      }
      guard epoch.isEnded(by: sentence) else {
        epoch.add(sentence)
        continue
      }
      let fix = closeEpoch()
      epoch.add(sentence)
      if let fix { return .position([fix]) }
    }
    return nil
  }

  private mutating func nextSentence() throws(RecordingError) -> NMEASentence? {
    while let line = try lines.next() {
      do {
        if let sentence = try NMEASentence(line: line) {
          return sentence
        }
      } catch {
        guard lines.lineWasTerminated else { continue }
        let fault = RecordingError(
          file: name, line: lines.lineNumber, problem: "\(error.description) (\(excerpt(line)))",
          remedy: "delete the line or record again")
        progress.skip(fault)
        if !toleratesBrokenSentences { throw fault }
      }
    }
    return nil
  }

  /// Ends the epoch. Returns its fix; nil if it contained no position or fixes are not in demand.
  private mutating func closeEpoch() -> PositionFix? {
    let ended = epoch
    epoch = NMEAEpoch()
    satellites.update(ended.satellitesVisible)
    guard ended.hasPosition else { return nil }
    let moment = calendar.moment(timeOfDay: ended.timeOfDay, date: ended.date, shifting: &clock)
    let timestamp = clock.timestamp(for: moment?.time)
    lastTimestamp = timestamp
    var fix = ended.fix(at: timestamp)
    if fix.coordinate != nil { progress.hasPosition = true }
    guard gate.admits(timestamp) else { return nil }
    fix.time = moment.flatMap { $0.isDated ? $0.time : nil }
    fix.satellitesVisible = satellites.visible
    fix.receiver = name
    return fix
  }
}

/// Number of satellites in view, over all talkers. GSV is less frequent than fixes, so a count remains valid
/// for several epochs.
private struct NMEASatelliteCount: Sendable {
  private static let lifetimeInEpochs = 30
  private var counts: [String: (count: Int, age: Int)] = [:]

  var visible: Int? { counts.isEmpty ? nil : counts.values.reduce(0) { $0 + $1.count } }

  mutating func update(_ fresh: [String: Int]) {
    for (talker, entry) in counts {
      counts[talker] = entry.age < Self.lifetimeInEpochs ? (entry.count, entry.age + 1) : nil
    }
    for (talker, count) in fresh { counts[talker] = (count, 0) }
  }
}

/// Combines times of day with dates. NMEA contains the date rarely, in some sentences only, or never.
struct NMEACalendar: Sendable {
  private static let day: Int64 = 86_400_000_000_000
  /// Midnight of the day of the last time; 1970-01-01 while the date is unknown.
  private var midnight: UTCTime
  private var isDated: Bool
  private var lastTimeOfDay: Int64?

  /// - Parameter startDate: any time on the first day; nil if unknown.
  init(startDate: UTCTime?) {
    isDated = startDate != nil
    let start = startDate?.nanoseconds ?? 0
    let rest = start % Self.day
    midnight = UTCTime(nanoseconds: start - (rest < 0 ? rest + Self.day : rest))
  }

  /// Returns the civil time for a time of day; nil if the receiver had no time. When the first date replaces
  /// the assumed one, `clock` is shifted, so that timestamps do not jump by decades.
  mutating func moment(
    timeOfDay: Int64?, date: UTCTime?, shifting clock: inout RecordingClock
  ) -> (time: UTCTime, isDated: Bool)? {
    guard let timeOfDay else { return nil }
    if let last = lastTimeOfDay, timeOfDay < last - Self.day / 2 {
      midnight.nanoseconds += Self.day
    }
    lastTimeOfDay = timeOfDay
    if let date {
      if !isDated { clock.shift(byNanoseconds: date.nanoseconds &- midnight.nanoseconds) }
      midnight = date
      isDated = true
    }
    return (UTCTime(nanoseconds: midnight.nanoseconds + timeOfDay), isDated)
  }
}
