public import Spatial

/// The last published message of a lasting driving event. It is stored until the message of the event's end
/// is in the outbox.
public struct StoredEvent: Hashable, Sendable {
  public var number: Int
  /// A name of `DrivingEvent.Kind`.
  public var kind: String
  public var isOngoing: Bool
  /// The start of the event.
  public var start: UTCTime
  /// The duration in s; nil if the event was published without a duration.
  public var duration: Double?
  /// Peak and limit in the kind's unit; nil for kinds without a value.
  public var peak, limit: Double?
  /// A name of `DrivingEvent.Severity`.
  public var severity: String
  public var confidence: Double
  /// The published position of the start; nil if hidden.
  public var coordinate: Coordinate?
  /// The 68 % accuracy of the position in m, and the speed at the start in m/s; nil if unknown.
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

  /// A duration in s above which a change of the clock is more likely than an event of that length.
  private static let longest = 30.0 * 86_400

  /// Ends an event that was ongoing when the agent stopped.
  /// - Parameter seen: time of the last stored state; nil if unknown.
  mutating func finish(seen: UTCTime?) {
    guard isOngoing else { return }
    isOngoing = false
    guard let seconds = seen?.seconds(since: start), seconds <= Self.longest else { return }
    duration = duration.map { max($0, seconds) }
  }
}

extension StoredEvent {
  func write(to words: inout TripFields) {
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

  init(_ words: inout TripFields) throws(TripFields.Failure) {
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
