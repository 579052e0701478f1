public import Sensors
public import Spatial

/// Position fixes from a receiver's NMEA 0183 log, one for each moment that its sentences speak of.
///
/// - RMC, GGA, GNS, GLL, GSA, GSV, VTG and ZDA of any talker are read; other sentences, comments and binary are
///   passed over. RMC status V, GLL status V and GGA quality 0 mean that there is no fix: such a moment has no
///   position, whatever the sentences repeat.
/// - `PositionFix.time` is as recorded. `timestamp` is the receiver's time since its first one, plus
///   `startingAt`; when the receiver's time runs backwards it stands still (`RecordingClock`).
/// - The date comes from RMC or ZDA. While there was none, it is the one given, and later days are counted as the
///   time of day passes midnight; without that either, `time` is nil and the time line still runs.
/// - A sentence with a wrong or missing checksum, as of a serial line that lost characters, is skipped and counted. Without
///   `toleratingBrokenSentences` it is an error that names its line. A last line without an end is ignored, because a recorder that
///   was cut off leaves it.
/// - A file without any position is an error.
public struct NMEARecording: SensorRecording {
  public let name: String
  public let kinds: Set<SensorKind> = [.positioning]
  /// Sentences that were skipped because of their checksum.
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
  ///   - path: the log.
  ///   - startDate: any time on the day on which the log starts (UTC); needed only for logs without RMC and ZDA.
  ///   - startingAt: the time of the first fix on the device's time line.
  ///   - toleratingBrokenSentences: whether sentences with a bad checksum are skipped rather than an error.
  /// - Throws: `RecordingError` when the file cannot be opened.
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

  /// The next fix, alone in its block.
  /// - Throws: `RecordingError` for a broken sentence that is not tolerated, a line that is too long, and at the end of a file
  ///   without any position. After a broken sentence the recording can be read on.
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

  /// Ends the epoch. Its fix is nil when it spoke of no position or nobody wants one.
  private mutating func closeEpoch() -> PositionFix? {
    let ended = epoch
    epoch = NMEAEpoch()
    satellites.update(ended.satellitesVisible)
    guard ended.speaksOfPosition else { return nil }
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

/// How many satellites are in view, over all talkers. GSV comes more rarely than fixes, so a count holds for a
/// while, but not for ever.
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

/// Puts times of day on dates: NMEA says the date rarely, in some sentences only, or never.
struct NMEACalendar: Sendable {
  private static let day: Int64 = 86_400_000_000_000
  /// Midnight of the day that the last moment fell on; 1970-01-01 while the date is unknown.
  private var midnight: UTCTime
  private var isDated: Bool
  private var lastTimeOfDay: Int64?

  /// - Parameter startDate: any time on the first day; nil when it is not known.
  init(startDate: UTCTime?) {
    isDated = startDate != nil
    let start = startDate?.nanoseconds ?? 0
    let rest = start % Self.day
    midnight = UTCTime(nanoseconds: start - (rest < 0 ? rest + Self.day : rest))
  }

  /// The moment of a time of day; nil when the receiver had no time. `clock` is moved along when the first date
  /// ever takes the place of the assumed one, so that this does not look like a gap of decades.
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
