public import Spatial

/// The mounting of a sensor in the device: converts a vector from the sensor's axes to the device frame.
///
/// It corresponds to the kernel's `mount_matrix` (Documentation/ABI/testing/sysfs-bus-iio): rows separated by
/// `;`, numbers by `,`, such as `"0, 1, 0; -1, 0, 0; 0, 0, 1"`, and `device = matrix * sensor`.
public struct MountMatrix: Hashable, Sendable, CustomStringConvertible {
  /// The nine numbers, by row.
  public let rows: RotationMatrix

  /// True if the sensor's axes are those of the device.
  public var isIdentity: Bool { rows == .identity }

  /// True if the matrix is a rotation: rows of length 1, at right angles, not mirrored. Rounding errors of 2 %
  /// are accepted.
  public var isRotation: Bool {
    let rows = [
      Vector3(x: self.rows.m11, y: self.rows.m12, z: self.rows.m13),
      Vector3(x: self.rows.m21, y: self.rows.m22, z: self.rows.m23),
      Vector3(x: self.rows.m31, y: self.rows.m32, z: self.rows.m33),
    ]
    for (index, row) in rows.enumerated() {
      guard abs(row.dot(row) - 1) < 0.04 else { return false }
      for other in rows[(index + 1)...] where abs(row.dot(other)) > 0.02 { return false }
    }
    return self.rows.determinant > 0
  }

  /// True if each axis of the device is an axis of the sensor or its opposite.
  public var keepsAxes: Bool {
    [[rows.m11, rows.m12, rows.m13], [rows.m21, rows.m22, rows.m23], [rows.m31, rows.m32, rows.m33]]
      .allSatisfy {
        let sizes = $0.map(abs).sorted()
        return sizes[1] < 1e-6 && abs(sizes[2] - 1) < 1e-6
      }
  }

  public static var identity: MountMatrix { MountMatrix(valid: .identity) }

  /// Creates a mounting; nil if a number is not finite or the rows are linearly dependent (some firmware
  /// reports all zeros). Reflections are accepted, because some chips have a left-handed frame.
  public init?(_ rows: RotationMatrix) {
    let determinant = rows.determinant
    guard determinant.isFinite, abs(determinant) > 1e-3 else { return nil }
    self.init(valid: rows)
  }

  /// Parses the text of the kernel's attribute or of the configuration; nil for any other text.
  public init?(parsing text: some StringProtocol) {
    let rows = text.split(separator: ";", omittingEmptySubsequences: false)
    guard rows.count == 3 else { return nil }
    var numbers: [Double] = []
    for row in rows {
      let cells = row.split(separator: ",", omittingEmptySubsequences: false)
      guard cells.count == 3 else { return nil }
      for cell in cells {
        let digits = cell.drop(while: \.isWhitespace)
        guard let end = digits.lastIndex(where: { !$0.isWhitespace }) else { return nil }
        guard let number = Double(digits[...end]), number.isFinite else { return nil }
        numbers.append(number)
      }
    }
    self.init(
      RotationMatrix(
        m11: numbers[0], m12: numbers[1], m13: numbers[2],
        m21: numbers[3], m22: numbers[4], m23: numbers[5],
        m31: numbers[6], m32: numbers[7], m33: numbers[8]))
  }

  private init(valid rows: RotationMatrix) { self.rows = rows }

  /// Returns the vector in the device frame.
  public func callAsFunction(_ vector: Vector3) -> Vector3 { rows * vector }

  /// The matrix in the kernel's notation.
  public var description: String {
    "\(rows.m11), \(rows.m12), \(rows.m13); \(rows.m21), \(rows.m22), \(rows.m23); "
      + "\(rows.m31), \(rows.m32), \(rows.m33)"
  }
}
