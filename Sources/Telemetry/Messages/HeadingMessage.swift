public import JSON
public import Positioning
public import Spatial

/// Payload of `heading`: where the vehicle's front points.
public struct HeadingMessage: Hashable, Sendable {
  public var time: UTCTime
  /// Degrees clockwise from magnetic north, 0 ..< 360.
  public var magneticHeading: Double
  /// Degrees clockwise from true north; nil without a position.
  public var trueHeading: Double?
  /// Degrees, one standard deviation; nil when unknown.
  public var headingAccuracy: Double?
  /// What the magnetometer measures, and whether it needs a calibration.
  public var compass = CompassReport()
  /// Whether the vehicle's course says something else.
  public var contradictsCourse = false

  /// The point of the compass: of true north where that is known, else of magnetic north.
  public var cardinalPoint: CardinalPoint { CardinalPoint(direction: trueHeading ?? magneticHeading) }

  public init(time: UTCTime, heading: Heading) {
    self.init(
      time: time, magneticHeading: heading.magneticHeading, trueHeading: heading.trueHeading,
      headingAccuracy: heading.headingAccuracy)
    compass.isCalibrationWanted = heading.isCalibrationWanted
    contradictsCourse = heading.contradictsCourse
  }

  public init(
    time: UTCTime, magneticHeading: Double, trueHeading: Double? = nil, headingAccuracy: Double? = nil
  ) {
    self.time = time
    self.magneticHeading = magneticHeading
    self.trueHeading = trueHeading
    self.headingAccuracy = headingAccuracy
  }

  public var payload: [UInt8] {
    JSONWriter.object { json in
      json.field("time", time.rfc3339)
      json.field("magneticHeading", magneticHeading, decimals: 2)
      json.field("trueHeading", trueHeading, decimals: 2)
      json.field("headingAccuracy", headingAccuracy, decimals: 2)
      json.field("cardinalPoint", cardinalPoint.rawValue)
      compass.write(to: &json)
      if contradictsCourse { json.field("contradictsCourse", true) }
    }
  }

  public init(json: JSONValue) throws(JSONError) {
    time = try json.requiredTime("time")
    magneticHeading = try json.required("magneticHeading", in: 0...360)
    trueHeading = try json.optional("trueHeading", in: 0...360)
    headingAccuracy = try json.optional("headingAccuracy", in: 0...360)
    compass = CompassReport(json: json)
    contradictsCourse = json["contradictsCourse"]?.bool ?? false
  }
}
