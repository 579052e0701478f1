public import Spatial

/// Which way is up: the device axis that comes closest.
public struct UpDirection: Hashable, Sendable {
  public enum Axis: String, Hashable, Sendable, CaseIterable {
    case x, y, z
  }

  public var axis: Axis
  /// Whether the axis itself points up, rather than down.
  public var isPositive: Bool
  /// Degrees between that axis and the vertical, 0 ... 54.7 (a cube standing on its corner).
  public var angle: Double

  /// - Parameter gravity: device frame, any length; nil comes back for one without a direction. Of two axes that are
  ///   equally close the earlier in the order z, y, x is taken, as devices lie flat more often than not.
  public init?(gravity: Vector3) {
    guard let down = gravity.normalized else { return nil }
    let up = down * -1
    let (x, y, z) = (abs(up.x), abs(up.y), abs(up.z))
    let component: Double
    if z >= x, z >= y {
      (axis, component) = (.z, up.z)
    } else if y >= x {
      (axis, component) = (.y, up.y)
    } else {
      (axis, component) = (.x, up.x)
    }
    isPositive = component > 0
    let direction = Self.vector(axis) * (component > 0 ? 1 : -1)
    angle = Quaternion.shortest(from: direction, to: up).angle.degrees
  }

  /// The device axis that points up, with its sign.
  public var vector: Vector3 { Self.vector(axis) * (isPositive ? 1 : -1) }

  private static func vector(_ axis: Axis) -> Vector3 {
    switch axis {
    case .x: Vector3(1, 0, 0)
    case .y: Vector3(0, 1, 0)
    case .z: Vector3(0, 0, 1)
    }
  }
}
