package import JSON
public import Spatial

/// The axes in which attitude and acceleration are reported.
public enum BodyAxes: String, Hashable, Sendable, CaseIterable {
  /// The device's axes: right, forward, up by construction, or as set by `mount_matrix`.
  case device
  /// The device's axes, levelled by the command `level`.
  case level
  /// The vehicle's axes (right, forward, up), as determined by the navigation filter.
  case vehicle
}

/// Payload of `attitude`: orientation and motion of the vehicle. Without an attitude it contains what the
/// sensors provide: the direction of gravity, or only the rotation rate of a gyroscope.
public struct AttitudeMessage: Hashable, Sendable {
  public var time: UTCTime
  /// Reference frame of the attitude; nil without an attitude.
  public var frame: AttitudeReferenceFrame?
  /// The attitude; nil if only gravity is available.
  public var attitude: Attitude?
  /// Roll, pitch and yaw of `attitude`. Of several equivalent triples, the one closest to the previous
  /// message's angles is used. Nil without an attitude.
  public var angles: EulerAngles?
  /// Rotation since the command `zero`, in the axes that the device had at that command; nil before the first
  /// such command.
  public var relative: Attitude?
  /// Axes to which all values of this message refer; nil from vehicles that do not report the axes.
  public var axes: BodyAxes?
  /// Rotation rate in rad/s without bias; nil if not sent.
  public var rotationRate: Vector3?
  /// Direction of gravity in g; nil if not sent.
  public var gravity: Vector3?
  /// User acceleration in g; nil if not sent.
  public var userAcceleration: Vector3?
  /// The reason for reduced quality, and the remedy; nil if all sensors are available.
  public var degradation: String?

  /// - Parameter angles: roll, pitch and yaw; nil computes them from the attitude alone.
  public init(
    time: UTCTime, frame: AttitudeReferenceFrame, attitude: Attitude, angles: EulerAngles? = nil
  ) {
    self.time = time
    self.frame = frame
    self.attitude = attitude
    self.angles = angles ?? attitude.eulerAngles
  }

  /// Creates a message with the rotation rate alone, for a device without an accelerometer.
  public init(time: UTCTime, rotationRate: Vector3) {
    self.time = time
    self.rotationRate = rotationRate
  }

  /// Creates a message without an attitude.
  public init(time: UTCTime, gravity: Vector3, userAcceleration: Vector3?) {
    self.time = time
    self.gravity = gravity
    self.userAcceleration = userAcceleration
  }

  /// Roll and pitch in rad, from the attitude if available, otherwise from gravity; nil without both.
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
  package init(json: JSONValue) throws(JSONError) {
    time = try json.requiredTime("time")
    axes = json["axes"]?.string.flatMap(BodyAxes.init)
    rotationRate = json["rotationRate"]?.vector
    gravity = json["gravity"]?.vector
    userAcceleration = json["userAcceleration"]?.vector
    degradation = json["degraded"]?.string
    guard json["quaternion"] != nil else {
      guard gravity != nil || rotationRate != nil else {
        throw JSONError("key \"quaternion\": missing; required without \"gravity\" or \"rotationRate\"")
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

extension AttitudeMessage: TimedContent {
  /// An attitude is published only when it changes; retaining it provides new subscribers with the attitude of a vehicle at
  /// rest.
  static let contract = MessageContract(.attitude, qos: 0, isRetained: true, carriesIdentity: false)
}
