public import JSON
public import Spatial

/// Payload of `attitude`: how the vehicle is turned, and how it moves.
public struct AttitudeMessage: Hashable, Sendable {
  public var time: UTCTime
  public var frame: AttitudeReferenceFrame
  public var attitude: Attitude
  /// rad/s, device frame, free of bias; nil when not sent.
  public var rotationRate: Vector3?
  /// g, device frame; nil when not sent.
  public var gravity: Vector3?
  /// g, device frame; nil when not sent.
  public var userAcceleration: Vector3?

  public init(time: UTCTime, frame: AttitudeReferenceFrame, attitude: Attitude) {
    self.time = time
    self.frame = frame
    self.attitude = attitude
  }

  public var payload: [UInt8] {
    let q = attitude.quaternion
    return JSONWriter.object { json in
      json.field("time", time.rfc3339)
      json.field("frame", frame.rawValue)
      json.field("quaternion", numbers: [q.w, q.x, q.y, q.z], decimals: 6)
      json.field("roll", attitude.roll, decimals: 5)
      json.field("pitch", attitude.pitch, decimals: 5)
      json.field("yaw", attitude.yaw, decimals: 5)
      json.field("rotationRate", rotationRate, decimals: 5)
      json.field("gravity", gravity, decimals: 5)
      json.field("userAcceleration", userAcceleration, decimals: 5)
    }
  }

  public init(json: JSONValue) throws(JSONError) {
    time = try json.requiredTime("time")
    guard let name = json["frame"]?.string, let frame = AttitudeReferenceFrame(rawValue: name) else {
      throw JSONError("key \"frame\": not one of the reference frames")
    }
    self.frame = frame
    guard let q = json["quaternion"]?.array?.compactMap(\.double), q.count == 4 else {
      throw JSONError("key \"quaternion\": not four numbers")
    }
    attitude = Attitude(quaternion: Quaternion(w: q[0], x: q[1], y: q[2], z: q[3]).normalized)
    rotationRate = json["rotationRate"]?.vector
    gravity = json["gravity"]?.vector
    userAcceleration = json["userAcceleration"]?.vector
  }
}
