internal import Sensors
internal import Spatial

/// A sequence of samples of one kind with the same fields.
struct TraceStream: Sendable {
  enum Kind: UInt8, Sendable {
    case inertial, pressure, fix, vehicle, motion
  }

  struct Key: Hashable, Sendable {
    var kind: Kind
    /// The existing columns, as a bit mask of the columns that the kind can have.
    var mask: UInt32
    /// The index of the stream's text in the block: the path of a signal or the name of a receiver.
    var text = TraceStream.noText

    func isSound(texts: Int) -> Bool {
      guard text == TraceStream.noText || Int(text) < texts else { return false }
      return switch kind {
      case .inertial: mask != 0 && mask >> 10 == 0 && text == TraceStream.noText && areVectorsWhole
      case .pressure: mask == 1 && text == TraceStream.noText
      case .fix: mask >> UInt32(FixColumns.count) == 0
      case .vehicle: mask >> UInt32(VehicleColumns.count) == 0 && text != TraceStream.noText
      case .motion: mask == MotionColumns.still || mask == MotionColumns.moving
      }
    }

    private var areVectorsWhole: Bool {
      [0, 3, 6].allSatisfy { [0, 7].contains(mask >> UInt32($0) & 7) }
    }
  }

  static let noText: UInt16 = .max

  let key: Key
  /// Times of the samples in microseconds, by the device's monotonic clock.
  var times: [Int64] = []
  /// The existing columns in ascending order.
  var columns: [[Int64]]

  init(_ key: Key) {
    self.key = key
    columns = Array(repeating: [], count: key.mask.nonzeroBitCount)
  }

  mutating func removeAll() {
    times.removeAll(keepingCapacity: true)
    for index in columns.indices { columns[index].removeAll(keepingCapacity: true) }
  }

  /// Decodes one row; nil if the row is invalid.
  func sample(_ row: Int, steps: [Double], texts: [String]) -> TraceSample? {
    let timestamp = Timestamp(nanoseconds: 1000 * times[row])
    switch key.kind {
    case .inertial:
      var scan = InertialScan(timestamp: timestamp)
      var column = 0
      func vector(_ first: Int) -> Vector3? {
        guard key.mask >> UInt32(first) & 7 == 7 else { return nil }
        defer { column += 3 }
        return Vector3(
          Double(columns[column][row]) * steps[first], Double(columns[column + 1][row]) * steps[first + 1],
          Double(columns[column + 2][row]) * steps[first + 2])
      }
      scan.specificForce = vector(0)
      scan.rotationRate = vector(3)
      scan.magneticField = vector(6)
      if key.mask >> 9 & 1 == 1 { scan.temperature = Double(columns[column][row]) * steps[9] }
      return .inertial(scan)
    case .pressure:
      return .pressure(PressureData(timestamp: timestamp, pressure: Double(columns[0][row]) * steps[10]))
    case .fix:
      return .fix(FixColumns.fix(values(row), receiver: text(key.text, texts), at: timestamp))
    case .vehicle:
      guard let path = text(key.text, texts) else { return nil }
      return VehicleColumns.reading(values(row), path: path, texts: texts, at: timestamp).map {
        .vehicle($0)
      }
    case .motion:
      return MotionColumns.motion(values(row), at: timestamp).map { .motion($0) }
    }
  }

  /// Returns one entry for each possible column of the kind.
  private func values(_ row: Int) -> [Int64?] {
    var column = 0
    return (0..<32).map { bit in
      guard key.mask >> UInt32(bit) & 1 == 1 else { return nil }
      defer { column += 1 }
      return columns[column][row]
    }
  }

  private func text(_ number: UInt16, _ texts: [String]) -> String? {
    Int(number) < texts.count ? texts[Int(number)] : nil
  }
}
