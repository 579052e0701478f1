public import JSON
public import Spatial

/// In whose axes it is told how a vehicle is turned and what it feels.
public enum BodyAxes: String, Hashable, Sendable, CaseIterable {
  /// The device's: right, forward, up as it was built, or as `mount_matrix` has them.
  case device
  /// The device's, turned upright by the command `level`.
  case level
  /// The vehicle's: right, forward, up, as navigation has found them.
  case vehicle
}

/// Payload of `attitude`: orientation and motion of the vehicle. Without an attitude it has what the sensors provide: the tilt
/// by gravity, or the rotation rate of a gyroscope alone.
public struct AttitudeMessage: Hashable, Sendable {
  public var time: UTCTime
  /// In which the attitude is told; nil without one.
  public var frame: AttitudeReferenceFrame?
  /// Nil where only gravity is known.
  public var attitude: Attitude?
  /// Roll, pitch and yaw of `attitude`; of those that describe it, the ones that go on from the message before. Nil without.
  public var angles: EulerAngles?
  /// The turn since the command `zero`, in the axes of that moment; nil when none was given.
  public var relative: Attitude?
  /// Of all that is told here; nil from vehicles that do not say.
  public var axes: BodyAxes?
  /// rad/s, free of bias; nil when not sent.
  public var rotationRate: Vector3?
  /// g; nil when not sent.
  public var gravity: Vector3?
  /// g; nil when not sent.
  public var userAcceleration: Vector3?
  /// Why this is less well known than with all sensors, and what would help; nil when it is not.
  public var degradation: String?

  /// - Parameter angles: nil takes those of the attitude alone.
  public init(
    time: UTCTime, frame: AttitudeReferenceFrame, attitude: Attitude, angles: EulerAngles? = nil
  ) {
    self.time = time
    self.frame = frame
    self.attitude = attitude
    self.angles = angles ?? attitude.eulerAngles
  }

  /// The rotation rate alone, of a device without an accelerometer.
  public init(time: UTCTime, rotationRate: Vector3) {
    self.time = time
    self.rotationRate = rotationRate
  }

  /// Where no attitude is known.
  public init(time: UTCTime, gravity: Vector3, userAcceleration: Vector3?) {
    self.time = time
    self.gravity = gravity
    self.userAcceleration = userAcceleration
  }

  /// Roll and pitch, rad: of the attitude, or else what gravity shows of them; nil for neither.
  public var tilt: (roll: Double, pitch: Double)? {
    (angles ?? gravity.flatMap { Attitude(gravity: $0)?.eulerAngles }).map { ($0.roll, $0.pitch) }
  }

  public var payload: [UInt8] {
    JSONWriter.object { json in
      json.field("time", time.rfc3339)
      json.field("frame", frame?.rawValue)
      json.field("axes", axes?.rawValue)
      if let attitude {
        Self.write(attitude, angles ?? attitude.eulerAngles, to: &json)
      } else if let tilt {
        json.field("roll", tilt.roll, decimals: 5)
        json.field("pitch", tilt.pitch, decimals: 5)
      }
      if let relative { json.field("relative") { Self.write(relative, relative.eulerAngles, to: &$0) } }
      json.field("rotationRate", rotationRate, decimals: 5)
      json.field("gravity", gravity, decimals: 5)
      json.field("userAcceleration", userAcceleration, decimals: 5)
      json.field("degraded", degradation)
    }
  }

  private static func write(_ attitude: Attitude, _ angles: EulerAngles, to json: inout JSONWriter) {
    let q = attitude.quaternion
    json.field("quaternion", numbers: [q.w, q.x, q.y, q.z], decimals: 6)
    json.field("roll", angles.roll, decimals: 5)
    json.field("pitch", angles.pitch, decimals: 5)
    json.field("yaw", angles.yaw, decimals: 5)
  }

  /// - Throws: `JSONError` naming the key that is missing or wrong.
  public init(json: JSONValue) throws(JSONError) {
    time = try json.requiredTime("time")
    axes = json["axes"]?.string.flatMap(BodyAxes.init)
    rotationRate = json["rotationRate"]?.vector
    gravity = json["gravity"]?.vector
    userAcceleration = json["userAcceleration"]?.vector
    degradation = json["degraded"]?.string
    guard json["quaternion"] != nil else {
      guard gravity != nil || rotationRate != nil else {
        throw JSONError("key \"quaternion\": missing, without \"gravity\" or \"rotationRate\" in its place")
      }
      return
    }
    guard let frame = json["frame"]?.string.flatMap(AttitudeReferenceFrame.init(rawValue:)) else {
      throw JSONError("key \"frame\": not one of the reference frames")
    }
    guard let attitude = Self.attitude(json) else { throw JSONError("key \"quaternion\": not four numbers") }
    let own = attitude.eulerAngles
    (self.frame, self.attitude) = (frame, attitude)
    angles = EulerAngles(
      roll: json["roll"]?.double ?? own.roll, pitch: json["pitch"]?.double ?? own.pitch,
      yaw: json["yaw"]?.double ?? own.yaw)
    relative = json["relative"].flatMap(Self.attitude)
  }

  private static func attitude(_ json: JSONValue) -> Attitude? {
    guard let q = json["quaternion"]?.array?.compactMap(\.double), q.count == 4 else { return nil }
    return Attitude(quaternion: Quaternion(w: q[0], x: q[1], y: q[2], z: q[3]).normalized)
  }
}
