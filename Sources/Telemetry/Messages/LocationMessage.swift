package import JSON
internal import Sensors
public import Spatial
public import VehicleData

/// Payload of `location`: the last position of a vehicle.
public struct LocationMessage: Hashable, Sendable {
  public var identity: MessageIdentity?
  public var time: UTCTime
  public private(set) var location: Location
  /// Prediction parameters in bounded reporting; nil otherwise. The prediction starts at the message's time
  /// and coordinate.
  public var prediction: Prediction?

  /// Parameters that a subscriber needs, in addition to time and position, to compute the same prediction as
  /// the vehicle.
  public struct Prediction: Hashable, Sendable {
    /// Velocity in m/s, east and north, rounded to 1 mm/s.
    public var velocity: SIMD2<Double>
    /// Error bound in m: maximum distance between the displayed position and the fix of the same time.
    public var bound: Double
    /// Display delay in s. The bound applies to the position displayed for the time `delay` seconds ago.
    public var delay: Double
    /// Time in s after the message's time for which the bound applies without another message; nil from
    /// vehicles that report no validity.
    public var validity: Double?
    /// Growth of the bound in m/s after the end of `validity`.
    public var growth: Double

    public init(
      velocity: SIMD2<Double>, bound: Double, delay: Double, validity: Double? = nil, growth: Double = 0
    ) {
      self.velocity = velocity
      self.bound = bound
      self.delay = delay
      self.validity = validity
      self.growth = growth
    }
  }

  /// Creates a report of the bounded reporting policy. `location` is the fix at which the report takes
  /// effect. The message contains the position of the report, which is within the bound of the fix.
  public init(
    identity: MessageIdentity?, time: UTCTime, location: ShownLocation, report: ReportPredictor
  ) {
    self.init(identity: identity, time: time, location: location)
    self.location.coordinate = report.coordinate
    prediction = Prediction(
      velocity: report.velocity, bound: report.bound, delay: report.delay, validity: report.validity,
      growth: report.growth)
  }

  /// The predictor shared by subscriber and vehicle, in civil time; nil for a message without bounded
  /// reporting.
  public var predictor: ReportPredictor? {
    prediction.map {
      ReportPredictor(
        moment: Timestamp(nanoseconds: time.nanoseconds), coordinate: location.coordinate,
        velocity: $0.velocity, bound: $0.bound, delay: $0.delay, validity: $0.validity, growth: $0.growth,
        accuracy: location.horizontalAccuracy)
    }
  }

  public init(identity: MessageIdentity?, time: UTCTime, location: ShownLocation) {
    self.identity = identity
    self.time = time
    self.location = location.location
  }

  /// Encoded payload. Coordinates have 8 decimals (1 mm), values in m and m/s two or three, values in degrees
  /// two.
  public var payload: [UInt8] {
    JSONWriter.object { json in
      json.field("time", time.rfc3339)
      json.field("latitude", location.coordinate.latitude, decimals: 8)
      json.field("longitude", location.coordinate.longitude, decimals: 8)
      json.field("altitude", location.altitude, decimals: 2)
      json.field("ellipsoidalAltitude", location.ellipsoidalAltitude, decimals: 2)
      json.field("horizontalAccuracy", location.horizontalAccuracy, decimals: 2)
      json.field("verticalAccuracy", location.verticalAccuracy, decimals: 2)
      json.field("speed", location.speed, decimals: 3)
      json.field("speedAccuracy", location.speedAccuracy, decimals: 3)
      json.field("course", location.course, decimals: 2)
      json.field("courseAccuracy", location.courseAccuracy, decimals: 2)
      json.field("source", location.source)
      json.field("positionSource", location.positionSource?.rawValue)
      if location.contradictsBeacons { json.field("contradictsBeacons", true) }
      json.field("suspect", location.suspicion?.reason.rawValue)
      json.field("altitudeSource", location.altitudeSource?.rawValue)
      location.floor?.write(to: &json)
      location.odometer?.write(to: &json)
      if let prediction {
        json.field("predict") { json in
          json.field("velocityEast", prediction.velocity.x, decimals: 3)
          json.field("velocityNorth", prediction.velocity.y, decimals: 3)
          json.field("bound", prediction.bound, decimals: 3)
          json.field("delay", prediction.delay, decimals: 3)
          if let validity = prediction.validity {
            json.field("validity", validity, decimals: 3)
            json.field("growth", prediction.growth, decimals: 3)
          }
        }
      }
      json.write(identity)
    }
  }

  /// - Throws: `JSONError` naming the key that is missing or out of range.
  package init(json: JSONValue) throws(JSONError) {
    let coordinate = Coordinate(
      latitude: try json.required("latitude", in: -90...90),
      longitude: try json.required("longitude", in: -180...180))
    time = try json.requiredTime("time")
    // Timestamps of the device's monotonic clock are not comparable on other machines, so the location has
    // civil time instead.
    var location = Location(timestamp: Timestamp(nanoseconds: time.nanoseconds), coordinate: coordinate)
    location.time = time
    location.altitude = json["altitude"]?.double
    location.ellipsoidalAltitude = json["ellipsoidalAltitude"]?.double
    location.horizontalAccuracy = try json.optional("horizontalAccuracy", in: 0...1e8)
    location.verticalAccuracy = try json.optional("verticalAccuracy", in: 0...1e8)
    location.speed = try json.optional("speed", in: 0...1e5)
    location.speedAccuracy = try json.optional("speedAccuracy", in: 0...1e5)
    location.course = try json.optional("course", in: 0...360)
    location.courseAccuracy = try json.optional("courseAccuracy", in: 0...360)
    location.source = json["source"]?.string
    location.positionSource = json["positionSource"]?.string.flatMap(PositionSource.init)
    location.contradictsBeacons = json["contradictsBeacons"]?.bool ?? false
    // A reason that is unknown here comes from a later version of the agent.
    location.suspicion = json["suspect"]?.string.map { Suspicion(Suspicion.Reason(rawValue: $0) ?? .other) }
    location.altitudeSource = json["altitudeSource"]?.string.flatMap(AltitudeSource.init)
    location.floor = Floor(json: json)
    location.odometer = OdometerReading(json: json)
    self.location = location
    identity = json.identity
    guard let predict = json["predict"] else { return }
    prediction = Prediction(
      velocity: SIMD2(
        try predict.required("velocityEast", in: -1e5...1e5),
        try predict.required("velocityNorth", in: -1e5...1e5)),
      bound: try predict.required("bound", in: 0...1e8),
      delay: try predict.optional("delay", in: 0...1e6) ?? 0,
      validity: try predict.optional("validity", in: 0...1e8),
      growth: try predict.optional("growth", in: 0...1e5) ?? 0)
  }
}

extension LocationMessage: TimedContent {
  static let contract = MessageContract(.location, lane: .tracks, isRetained: true)
}
