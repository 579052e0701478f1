package import JSON
public import Spatial
public import VehicleData

/// Payload of `heading`: the direction of the vehicle's front.
public struct HeadingMessage: Hashable, Sendable {
  public var time: UTCTime
  /// Heading in degrees clockwise from magnetic north, 0 ..< 360.
  public var magneticHeading: Double
  /// Heading in degrees clockwise from true north; nil without a position.
  public var trueHeading: Double?
  /// Standard deviation of the heading in degrees; nil if unknown.
  public var headingAccuracy: Double?
  /// State of the magnetometer's calibration.
  public var compass = CompassReport()
  /// True if the heading contradicts the vehicle's course.
  public var contradictsCourse = false

  /// The cardinal point, from true north if available, otherwise from magnetic north.
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

  package init(json: JSONValue) throws(JSONError) {
    time = try json.requiredTime("time")
    magneticHeading = try json.required("magneticHeading", in: 0...360)
    trueHeading = try json.optional("trueHeading", in: 0...360)
    headingAccuracy = try json.optional("headingAccuracy", in: 0...360)
    compass = CompassReport(json: json)
    contradictsCourse = json["contradictsCourse"]?.bool ?? false
  }
}

extension HeadingMessage: TimedContent {
  static let contract = MessageContract(.heading, qos: 0, expiry: 60, carriesIdentity: false)
}
