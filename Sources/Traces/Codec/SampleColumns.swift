internal import Sensors
internal import Spatial

/// The columns of a receiver's fix. Their resolution is that of gpsd: 1e-9 degrees and 1e-4 m.
enum FixColumns {
  static let count = 17
  private static let (degree, small) = (1e-9, 1e-4)

  static func values(of fix: PositionFix) -> [Int64?] {
    let coordinate = fix.coordinate.flatMap { $0.isValid ? $0 : nil }
    return [
      fix.time?.nanoseconds, fix.mode.map { Int64($0.rawValue) },
      fix.quality.flatMap { FixQuality.allCases.firstIndex(of: $0) }.map { Int64($0) },
      number(coordinate?.latitude, degree), number(coordinate?.longitude, degree),
      number(fix.altitudeEllipsoidal, small), number(fix.altitudeMeanSeaLevel, small),
      number(fix.speed, small),
      number(fix.course, small), number(fix.climb, small), number(fix.horizontalError, small),
      fix.isHorizontalErrorFromDilution ? 1 : nil, number(fix.verticalError, small),
      number(fix.speedError, small), number(fix.courseError, small), number(fix.horizontalDilution, small),
      satellites(fix),
    ]
  }

  static func fix(_ values: [Int64?], receiver: String?, at timestamp: Timestamp) -> PositionFix {
    var fix = PositionFix(timestamp: timestamp, time: values[0].map { UTCTime(nanoseconds: $0) })
    fix.mode = values[1].flatMap { FixMode(rawValue: Int(truncatingIfNeeded: $0)) }
    fix.quality = values[2].flatMap {
      FixQuality.allCases.indices.contains(Int($0)) ? FixQuality.allCases[Int($0)] : nil
    }
    if let north = quantity(values[3], degree), let east = quantity(values[4], degree) {
      let coordinate = Coordinate(latitude: north, longitude: east)
      fix.coordinate = coordinate.isValid ? coordinate : nil
    }
    (fix.altitudeEllipsoidal, fix.altitudeMeanSeaLevel) = (
      quantity(values[5], small), quantity(values[6], small)
    )
    (fix.speed, fix.course, fix.climb) = (
      quantity(values[7], small), quantity(values[8], small), quantity(values[9], small)
    )
    fix.horizontalError = quantity(values[10], small)
    fix.isHorizontalErrorFromDilution = values[11] == 1
    (fix.verticalError, fix.speedError) = (quantity(values[12], small), quantity(values[13], small))
    (fix.courseError, fix.horizontalDilution) = (quantity(values[14], small), quantity(values[15], small))
    if let both = values[16] {
      fix.satellitesUsed = count(both & 0xffff)
      fix.satellitesVisible = count(both >> 16 & 0xffff)
    }
    fix.receiver = receiver
    return fix
  }

  /// Combines the numbers of used and of visible satellites in one number. Each is stored plus one, so that 0
  /// means unknown.
  private static func satellites(_ fix: PositionFix) -> Int64? {
    guard fix.satellitesUsed != nil || fix.satellitesVisible != nil else { return nil }
    func code(_ count: Int?) -> Int64 { count.map { Int64(min(max($0, 0), 65_534) + 1) } ?? 0 }
    return code(fix.satellitesUsed) | code(fix.satellitesVisible) << 16
  }

  private static func count(_ code: Int64) -> Int? { code == 0 ? nil : Int(code) - 1 }

  private static func number(_ value: Double?, _ step: Double) -> Int64? {
    value.flatMap { $0.isFinite ? TraceBlock.whole($0 / step) : nil }
  }

  private static func quantity(_ steps: Int64?, _ step: Double) -> Double? {
    // Division by an integer gives the double nearest to the decimal number.
    steps.map { Double($0) / (1 / step).rounded() }
  }
}

/// The columns of vehicle signals. The signal's path is part of the stream.
enum VehicleColumns {
  static let count = 6
  private static let origins: [VehicleReading.Origin] = [.broadcast, .diagnostic, .derived]

  /// Returns the column values of a reading.
  ///
  /// - Parameter word: the index of the value in the block's texts; nil if the value is not a text.
  static func values(of reading: VehicleReading, word: UInt16?) -> [Int64?] {
    let origin = origins.firstIndex(of: reading.origin).map { Int64($0) }
    let resolution = reading.resolution.flatMap { $0.isFinite && $0 > 0 ? $0 : nil }
    let step = resolution.map { Int64(bitPattern: $0.bitPattern) }
    var (steps, bits, flag): (Int64?, Int64?, Int64?) = (nil, nil, nil)
    switch reading.value {
    case .number(let number)?:
      if let resolution, case let whole = (number / resolution).rounded(), abs(whole) < 1e15,
        whole * resolution == number
      {
        steps = Int64(whole)
      } else {
        bits = Int64(bitPattern: number.bitPattern)
      }
    case .flag(let value)?: flag = value ? 1 : 0
    case .text?, nil: break
    }
    return [origin, step, steps, bits, flag, word.map { Int64($0) }]
  }

  static func reading(
    _ values: [Int64?], path: String, texts: [String], at timestamp: Timestamp
  ) -> VehicleReading? {
    guard let origin = values[0], (0..<Int64(origins.count)).contains(origin) else { return nil }
    var reading = VehicleReading(timestamp: timestamp, path: path, value: nil, origin: origins[Int(origin)])
    reading.resolution = values[1].map { Double(bitPattern: UInt64(bitPattern: $0)) }
    if let steps = values[2] {
      guard let resolution = reading.resolution else { return nil }
      reading.value = .number(Double(steps) * resolution)
    } else if let bits = values[3] {
      reading.value = .number(Double(bitPattern: UInt64(bitPattern: bits)))
    } else if let flag = values[4] {
      reading.value = .flag(flag != 0)
    } else if let word = values[5] {
      guard (0..<Int64(texts.count)).contains(word) else { return nil }
      reading.value = .text(texts[Int(word)])
    }
    return reading
  }
}

/// The columns of attitude and velocity: quaternion components in steps of 2^-24 (0.00001°), velocity in
/// mm/s.
enum MotionColumns {
  static let still: UInt32 = 0b1111
  static let moving: UInt32 = 0b111_1111
  private static let (part, speed) = (16_777_216.0, 1000.0)

  static func values(of motion: TraceMotion) -> [Int64?] {
    let q = motion.attitude.isFinite ? motion.attitude : .identity
    let velocity = motion.velocity.flatMap { $0.isFinite ? $0 : nil }
    return [q.w, q.x, q.y, q.z].map { TraceBlock.whole($0 * part) }
      + (0..<3).map { axis in velocity.map { TraceBlock.whole($0[axis] * speed) } }
  }

  static func motion(_ values: [Int64?], at timestamp: Timestamp) -> TraceMotion? {
    let q = values[0..<4].compactMap { $0 }.map { Double($0) / part }
    guard q.count == 4 else { return nil }
    let velocity = values[4..<7].compactMap { $0 }.map { Double($0) / speed }
    return TraceMotion(
      timestamp: timestamp, attitude: Quaternion(w: q[0], x: q[1], y: q[2], z: q[3]),
      velocity: velocity.count == 3 ? Vector3(velocity[0], velocity[1], velocity[2]) : nil)
  }
}
