public import Spatial

/// What was told of a driving event that lasts, as it is kept until its end is safe in the outbox.
public struct KeptEvent: Hashable, Sendable {
  public var number: Int
  /// As it is told: a name of `DrivingEvent.Kind`.
  public var kind: String
  public var isOngoing: Bool
  /// When it began.
  public var start: UTCTime
  /// s; nil where it was told without.
  public var duration: Double?
  /// In the unit in which they are told; nil where there is nothing to measure.
  public var peak, limit: Double?
  /// A name of `DrivingEvent.Severity`.
  public var severity: String
  public var confidence: Double
  /// Where it began as others may know it; nil where nobody may.
  public var coordinate: Coordinate?
  /// Metres at 68 %, and m/s.
  public var accuracy, speed: Double?
  public var region: String?
  public var trip: Int?

  public init(
    number: Int, kind: String, isOngoing: Bool, start: UTCTime, duration: Double?, peak: Double?,
    limit: Double?, severity: String, confidence: Double, coordinate: Coordinate?, accuracy: Double?,
    speed: Double?, region: String?, trip: Int?
  ) {
    (self.number, self.kind, self.isOngoing, self.start) = (number, kind, isOngoing, start)
    (self.duration, self.peak, self.limit) = (duration, peak, limit)
    (self.severity, self.confidence, self.region, self.trip) = (severity, confidence, region, trip)
    (self.coordinate, self.accuracy, self.speed) = (coordinate, accuracy, speed)
  }

  /// s after which civil time has been set rather than that an event has lasted.
  private static let longest = 30.0 * 86_400

  /// It went on when nobody looked any longer, so it is over.
  /// - Parameter seen: the newest moment of which anything was kept.
  mutating func finish(seen: UTCTime?) {
    guard isOngoing else { return }
    isOngoing = false
    guard let seconds = seen?.seconds(since: start), seconds <= Self.longest else { return }
    duration = duration.map { max($0, seconds) }
  }
}

extension KeptEvent {
  func write(to words: inout TripWords) {
    words.write(Double(number))
    words.write(kind)
    words.write(isOngoing)
    words.write(start)
    for number in [duration, peak, limit] { words.write(number) }
    words.write(severity)
    for number in [confidence, coordinate?.latitude, coordinate?.longitude, accuracy, speed] {
      words.write(number)
    }
    words.write(region)
    words.write(trip.map(Double.init))
  }

  init(_ words: inout TripWords) throws(TripWords.Failure) {
    self.init(
      number: try words.integer(in: 1...Int(Int32.max)), kind: try words.string(),
      isOngoing: try words.flag(), start: try words.requiredTime(),
      duration: try words.optional(in: 0...1e10),
      peak: try words.optional(in: -1e9...1e9), limit: try words.optional(in: -1e9...1e9),
      severity: try words.string(), confidence: try words.number(in: 0...1),
      coordinate: try words.coordinate(), accuracy: try words.optional(in: 0...1e8),
      speed: try words.optional(in: 0...1e4), region: try words.optionalString(),
      trip: try words.optional(in: 1...Double(Int32.max)).map { Int($0) })
  }
}
