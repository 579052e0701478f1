extension Quaternion {
  /// The shortest rotation that turns one direction into another; half a turn about some perpendicular axis where they
  /// are opposite, the identity where one has no direction.
  public static func shortest(from: Vector3, to: Vector3) -> Quaternion {
    guard let a = from.normalized, let b = to.normalized else { return .identity }
    // The half-way vector keeps full precision at both ends, where the arc cosine does not.
    if let half = (a + b).normalized, (a + b).length > 1e-9 {
      let axis = a.cross(half)
      return Quaternion(w: a.dot(half), x: axis.x, y: axis.y, z: axis.z).normalized
    }
    let other = abs(a.x) < 0.9 ? Vector3(1, 0, 0) : Vector3(0, 1, 0)
    return Quaternion(angle: .pi, axis: a.cross(other))
  }
}
