public import Spatial

/// The motion of the vehicle at one time, from navigation or a receiver.
public struct OdometerSample: Hashable, Sendable {
  public var timestamp: Timestamp
  /// Civil time, used for gaps across a restart; nil if unknown.
  public var time: UTCTime?
  public var coordinate: Coordinate
  /// The 68 % radius in m; nil if unknown.
  public var accuracy: Double?
  /// The ground speed in m/s, at least 0; nil if not measured.
  public var speed: Double?
  /// Course in degrees clockwise from true north; nil if unknown.
  public var course: Double?
  /// True if the vehicle is at rest according to the source, regardless of `speed`.
  public var isStopped: Bool
  /// True if `speed` is measured at least partly by GNSS, so that it can calibrate the wheels.
  public var isReceiverInUse: Bool

  public init(
    timestamp: Timestamp, time: UTCTime? = nil, coordinate: Coordinate, accuracy: Double? = nil,
    speed: Double? = nil, course: Double? = nil, isStopped: Bool = false, isReceiverInUse: Bool = true
  ) {
    self.timestamp = timestamp
    self.time = time
    self.coordinate = coordinate
    self.accuracy = accuracy
    self.speed = speed
    self.course = course
    self.isStopped = isStopped
    self.isReceiverInUse = isReceiverInUse
  }

  /// True if the values are plausible for a vehicle.
  var isSound: Bool {
    coordinate.isValid && (speed.map { $0.isFinite && $0 >= 0 && $0 < Self.fastest } ?? true)
      && (course?.isFinite ?? true) && (accuracy.map { $0.isFinite && $0 >= 0 } ?? true)
  }

  /// The largest plausible speed in m/s.
  static let fastest = 150.0
}
