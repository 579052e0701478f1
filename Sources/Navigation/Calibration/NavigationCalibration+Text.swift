internal import Bytes
public import Sensors
internal import Spatial

// The format consists of readable lines "key value ...". The first line is the version, the last a checksum
// over all previous lines. Every key occurs once, except `made`, `moment` and the keys of the last state,
// which are optional. Keys of later minor versions are skipped.
extension NavigationCalibration {
  private static let firstLine = "odograph-navigation 1"

  /// The calibration as UTF-8 text; numbers have all significant digits.
  public var text: String {
    var lines = [Self.firstLine]
    if let made { lines.append("made \(made.nanoseconds)") }
    if let moment { lines.append("moment \(moment.timeline) \(moment.timestamp.nanoseconds)") }
    func add(_ key: String, _ values: Double...) {
      lines.append(key + values.map { " \($0)" }.joined())
    }
    func add(_ key: String, _ v: Vector3) { add(key, v.x, v.y, v.z) }
    func add(_ key: String, _ q: Quaternion) { add(key, q.w, q.x, q.y, q.z) }
    func add(_ key: String, _ s: Shaking) {
      let (m, v) = (s.mean, s.variance)
      add(key, s.seconds, m[0], m[1], m[2], m[3], v[0], v[1], v[2], v[3])
    }
    add("mounting", mounting)
    add("mounting-deviation", mountingDeviation.x, mountingDeviation.y)
    add("gyroscope-bias", gyroscopeBias)
    add("accelerometer-bias", accelerometerBias)
    add("bias-deviation", gyroscopeBiasDeviation, accelerometerBiasDeviation)
    add("gyroscope-scale", gyroscopeScale)
    add("axle-lever", axleLever)
    add("antenna-lever", antennaLever)
    add("latency", positionLatency, velocityLatency)
    add("speed-scale", speedScale)
    add("standing", standing)
    add("driving", driving)
    if let last = lastState {
      add("coordinate", last.coordinate.latitude, last.coordinate.longitude)
      let altitude = last.altitude.map { "\($0)" } ?? "-"
      lines.append("altitude \(altitude) \(last.isAltitudeEllipsoidal ? "ellipsoid" : "sea")")
      add("attitude", last.attitude)
      add("velocity", last.velocity)
      add(
        "state-deviation", last.positionDeviation, last.heightDeviation, last.velocityDeviation,
        last.tiltDeviation, last.headingDeviation)
      add("since-fix", last.sinceFix)
      lines.append("stopped \(last.isStopped ? "yes" : "no")")
    }
    let body = lines.joined(separator: "\n") + "\n"
    return body + "crc \(String(CRC32.checksum(body.utf8), radix: 16))\n"
  }

  /// Parses a text created by `text`. The result is valid (`isValid`).
  /// - Throws: `StoredStateError` with the line.
  public init(text: String) throws(StoredStateError) {
    let lines = try CalibrationLines(text, version: Self.firstLine)
    func shaking(_ key: String) throws(StoredStateError) -> Shaking {
      let n = try lines.numbers(key, 9)
      return Shaking(
        mean: SIMD4(n[1], n[2], n[3], n[4]), variance: SIMD4(n[5], n[6], n[7], n[8]), seconds: n[0])
    }
    let mountingDeviation = try lines.numbers("mounting-deviation", 2)
    let biasDeviation = try lines.numbers("bias-deviation", 2)
    let latency = try lines.numbers("latency", 2)
    self.init(
      made: try lines.made(), moment: try lines.moment(), mounting: try lines.quaternion("mounting"),
      mountingDeviation: SIMD2(mountingDeviation[0], mountingDeviation[1]),
      gyroscopeBias: try lines.vector("gyroscope-bias"),
      accelerometerBias: try lines.vector("accelerometer-bias"),
      gyroscopeBiasDeviation: biasDeviation[0], accelerometerBiasDeviation: biasDeviation[1],
      gyroscopeScale: try lines.vector("gyroscope-scale"), axleLever: try lines.numbers("axle-lever", 1)[0],
      antennaLever: try lines.vector("antenna-lever"), positionLatency: latency[0],
      velocityLatency: latency[1],
      speedScale: try lines.numbers("speed-scale", 1)[0], standing: try shaking("standing"),
      driving: try shaking("driving"),
      lastState: try LastState(lines))
    guard isValid else {
      throw StoredStateError(
        description: "line 2 and following: implausible numbers; remove the file to start again")
    }
  }
}

extension NavigationCalibration.LastState {
  /// Parses the last state; nil if the text has none.
  fileprivate init?(_ lines: CalibrationLines) throws(StoredStateError) {
    guard lines.has("coordinate") else { return nil }
    let coordinate = try lines.numbers("coordinate", 2)
    let altitude = try lines.words("altitude", 2)
    let deviation = try lines.numbers("state-deviation", 5)
    self.init(
      coordinate: Coordinate(latitude: coordinate[0], longitude: coordinate[1]),
      altitude: altitude[0] == "-" ? nil : try lines.number(altitude[0], of: "altitude"),
      isAltitudeEllipsoidal: try lines.choice(altitude[1], "ellipsoid", "sea", of: "altitude"),
      attitude: try lines.quaternion("attitude"), velocity: try lines.vector("velocity"),
      positionDeviation: deviation[0], heightDeviation: deviation[1], velocityDeviation: deviation[2],
      tiltDeviation: deviation[3], headingDeviation: deviation[4],
      sinceFix: try lines.numbers("since-fix", 1)[0],
      isStopped: try lines.choice(try lines.words("stopped", 1)[0], "yes", "no", of: "stopped"))
  }
}

/// A parser of "key value ..." lines between a version and a checksum.
private struct CalibrationLines {
  private var lines: [Substring: (number: Int, words: [Substring])] = [:]

  init(_ text: String, version: String) throws(StoredStateError) {
    // Lines are split by bytes: a `Character` of carriage return and line feed would not match.
    let all = text.utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
      .map { Substring($0) }
    guard all.first == version[...] else {
      throw StoredStateError(
        description: "line 1: not a navigation calibration of this version; remove the file to start again")
    }
    guard all.count > 2, all.last == "", let last = all.dropLast().last, last.hasPrefix("crc "),
      UInt32(last.dropFirst(4), radix: 16)
        == CRC32.checksum((all.dropLast(2).joined(separator: "\n") + "\n").utf8)
    else {
      throw StoredStateError(
        description:
          "line \(all.count): the checksum does not match, the text is damaged; the calibration starts again")
    }
    for (index, line) in all.enumerated().dropFirst().dropLast(2) {
      let words = line.split(separator: " ")
      guard let key = words.first else { continue }
      guard lines.updateValue((index + 1, Array(words.dropFirst())), forKey: key) == nil else {
        throw StoredStateError(
          description: "line \(index + 1): \(key) occurs twice; remove the file to start again")
      }
    }
  }

  func has(_ key: String) -> Bool { lines[key[...]] != nil }

  func words(_ key: String, _ count: Int) throws(StoredStateError) -> [Substring] {
    guard let line = lines[key[...]] else {
      throw StoredStateError(
        description: "line \(lines.count + 2): \(key) is missing; remove the file to start again")
    }
    guard line.words.count == count else { throw error(key, "needs \(count) values") }
    return line.words
  }

  func numbers(_ key: String, _ count: Int) throws(StoredStateError) -> [Double] {
    var numbers: [Double] = []
    for word in try words(key, count) { numbers.append(try number(word, of: key)) }
    return numbers
  }

  func number(_ word: Substring, of key: String) throws(StoredStateError) -> Double {
    guard let value = Double(word), value.isFinite else { throw error(key, "\(word) is no number") }
    return value
  }

  func vector(_ key: String) throws(StoredStateError) -> Vector3 {
    let n = try numbers(key, 3)
    return Vector3(n[0], n[1], n[2])
  }

  func quaternion(_ key: String) throws(StoredStateError) -> Quaternion {
    let n = try numbers(key, 4)
    return Quaternion(w: n[0], x: n[1], y: n[2], z: n[3])
  }

  /// Returns whether a word equals the first of two allowed words; throws if it equals neither.
  func choice(
    _ word: Substring, _ first: String, _ second: String, of key: String
  ) throws(StoredStateError) -> Bool {
    guard word == first[...] || word == second[...] else { throw error(key, "needs \(first) or \(second)") }
    return word == first[...]
  }

  func made() throws(StoredStateError) -> UTCTime? {
    guard has("made") else { return nil }
    let word = try words("made", 1)[0]
    guard let nanoseconds = Int64(word) else { throw error("made", "needs nanoseconds since 1970") }
    return UTCTime(nanoseconds: nanoseconds)
  }

  func moment() throws(StoredStateError) -> NavigationCalibration.Moment? {
    guard has("moment") else { return nil }
    let words = try words("moment", 2)
    guard let nanoseconds = Int64(words[1]) else {
      throw error("moment", "needs the identity of a clock and nanoseconds")
    }
    return NavigationCalibration.Moment(
      timeline: String(words[0]), timestamp: Timestamp(nanoseconds: nanoseconds))
  }

  private func error(_ key: String, _ what: String) -> StoredStateError {
    let line = lines[key[...]].map { "line \($0.number): " } ?? ""
    return StoredStateError(description: "\(line)\(key): \(what); remove the file to start again")
  }
}
