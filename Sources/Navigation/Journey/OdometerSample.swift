public import Spatial

/// How the vehicle moves at one moment, as navigation or a receiver knows it.
public struct OdometerSample: Hashable, Sendable {
  public var timestamp: Timestamp
  /// Civil time of the same moment, for gaps across a restart; nil where it is not known.
  public var time: UTCTime?
  public var coordinate: Coordinate
  /// Metres: a circle of so much holds the true position in 68 % of cases; nil where nobody says.
  public var accuracy: Double?
  /// m/s over ground, at least 0; nil where it is not measured.
  public var speed: Double?
  /// Degrees clockwise from true north; nil where it is not known.
  public var course: Double?
  /// Whether the vehicle is known to stand, whatever the speed says.
  public var isStopped: Bool
  /// Whether the speed is measured by satellites at least in part, so that wheels can be compared with it.
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

  /// Whether its numbers are those of a vehicle on the earth.
  var isSound: Bool {
    coordinate.isValid && (speed.map { $0.isFinite && $0 >= 0 && $0 < Self.fastest } ?? true)
      && (course?.isFinite ?? true) && (accuracy.map { $0.isFinite && $0 >= 0 } ?? true)
  }

  /// m/s.
  static let fastest = 150.0
}
