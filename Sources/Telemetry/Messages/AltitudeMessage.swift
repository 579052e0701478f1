package import JSON
public import Spatial
public import VehicleData

/// Payload of `altitude`: height from barometer and receiver, and the level in a garage.
public struct AltitudeMessage: Hashable, Sendable {
  public var identity: MessageIdentity?
  public var time: UTCTime
  /// Height in m above the level of the first pressure since the agent started, from pressure alone. Changes
  /// of the weather appear as changes of height.
  public var relativeAltitude: Double
  /// Air pressure in Pa, with short disturbances removed.
  public var pressure: Double
  /// Metres above mean sea level; nil before the receiver's first altitude.
  public var altitude: Double?
  /// Standard deviation of `altitude` in m.
  public var accuracy: Double?
  /// Standard deviation in m of the difference between two altitudes that are a few seconds apart, while the
  /// vehicle is at rest.
  public var precision: Double?
  /// The sensors that determine `altitude`; nil without an altitude.
  public var source: AltitudeSource?
  /// The level in a garage; nil under open sky and if unknown.
  public var floor: Floor?

  public init(time: UTCTime, data: AltitudeData, absolute: AbsoluteAltitudeData? = nil, floor: Floor? = nil) {
    self.time = time
    relativeAltitude = data.relativeAltitude
    pressure = data.pressure * 1000
    (altitude, accuracy, precision) = (absolute?.altitude, absolute?.accuracy, absolute?.precision)
    self.floor = floor
  }

  public var payload: [UInt8] {
    JSONWriter.object { json in
      json.field("time", time.rfc3339)
      json.field("relativeAltitude", relativeAltitude, decimals: 2)
      json.field("pressure", pressure, decimals: 1)
      json.field("altitude", altitude, decimals: 2)
      json.field("accuracy", accuracy, decimals: 2)
      json.field("precision", precision, decimals: 2)
      json.field("altitudeSource", source?.rawValue)
      floor?.write(to: &json)
      json.write(identity)
    }
  }

  /// - Throws: `JSONError` naming the key that is missing or out of range.
  package init(json: JSONValue) throws(JSONError) {
    time = try json.requiredTime("time")
    relativeAltitude = try json.required("relativeAltitude", in: -20_000...20_000)
    pressure = try json.required("pressure", in: 0...200_000)
    altitude = try json.optional("altitude", in: -20_000...40_000)
    accuracy = try json.optional("accuracy", in: 0...1e5)
    precision = try json.optional("precision", in: 0...1e5)
    source = json["altitudeSource"]?.string.flatMap(AltitudeSource.init)
    floor = Floor(json: json)
    identity = json.identity
  }
}

extension AltitudeMessage: TimedContent {
  static let contract = MessageContract(.altitude, lane: .state, isRetained: true)
}

extension Floor {
  /// Writes the member `floor` of a message.
  func write(to json: inout JSONWriter) {
    json.field("floor") { json in
      json.field("level", level)
      json.field("confidence", confidence, decimals: 2)
      json.field("height", height, decimals: 1)
      json.field("heightAccuracy", heightAccuracy, decimals: 1)
    }
  }

  /// Reads the level; nil if the message contains no level or an invalid one. The rest of the message is
  /// still useful then.
  init?(json: JSONValue) {
    guard let floor = json["floor"], let level = floor["level"]?.integer, (-1000...1000).contains(level),
      let confidence = floor["confidence"]?.double, (0...1).contains(confidence),
      let height = floor["height"]?.double, let accuracy = floor["heightAccuracy"]?.double, accuracy >= 0
    else { return nil }
    self.init(level: Int(level), confidence: confidence, height: height, heightAccuracy: accuracy)
  }
}
