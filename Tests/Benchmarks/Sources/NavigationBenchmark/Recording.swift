import Foundation
import Navigation
import Sensors
import Spatial

/// A drive: inertial samples, fixes, and the truth as far as it is available.
struct Recording {
  struct Sample {
    var time: Double
    var force: Vector3
    var rate: Vector3
  }

  struct Truth {
    var time: Double
    var coordinate: Coordinate
    /// Ground speed, m/s.
    var speed: Double
    /// Roll (right side down), pitch (nose up) and azimuth in degrees; nil if the truth is the receiver itself.
    var attitude: SIMD3<Double>?
  }

  var name: String
  var samples: [Sample]
  var fixes: [(time: Double, fix: PositionFix)]
  var truth: [Truth]
  var speeds: [(time: Double, speed: Double)]
  /// True if the truth is the receiver itself, and so has its times.
  var isTruthFromReceiver: Bool
  /// Shift in s of the inertial samples.
  var offset = 0.0
  /// Rotation of the device: from its own frame to that of the samples.
  var rotation = Quaternion.identity

  /// Reads all drives in a folder, or in its subfolders.
  static func all(in folder: String) throws -> [Recording] {
    let manager = FileManager.default
    if manager.fileExists(atPath: folder + "/gnss.csv") { return try drives(in: folder) }
    return try manager.contentsOfDirectory(atPath: folder).sorted()
      .filter { manager.fileExists(atPath: "\(folder)/\($0)/gnss.csv") }
      .flatMap { try drives(in: "\(folder)/\($0)") }
  }

  /// Reads one drive for each file `imu*.csv` of a folder.
  private static func drives(in folder: String) throws -> [Recording] {
    let name = URL(fileURLWithPath: folder).lastPathComponent
    let files = try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
    let inertial = files.filter { $0.hasPrefix("imu") && $0.hasSuffix(".csv") }
    let fixes = try rows(of: folder + "/gnss.csv", columns: 12).map { ($0[0], fix($0)) }
    let truth: [Truth]? =
      files.contains("truth.csv")
      ? try rows(of: folder + "/truth.csv", columns: 10).map { row in
        Truth(
          time: row[0], coordinate: Coordinate(latitude: row[1], longitude: row[2]),
          speed: hypot(row[4], row[5]), attitude: SIMD3(row[7], row[8], row[9]))
      } : nil
    let own = fixes.compactMap { time, fix in
      fix.coordinate.map { Truth(time: time, coordinate: $0, speed: fix.speed ?? 0, attitude: nil) }
    }
    let speeds =
      files.contains("speed.csv")
      ? try rows(of: folder + "/speed.csv", columns: 2).map { ($0[0], $0[1]) } : []
    return try inertial.map { file in
      let samples = try rows(of: "\(folder)/\(file)", columns: 7).map { row in
        Sample(
          time: row[0], force: Vector3(row[1], row[2], row[3]), rate: Vector3(row[4], row[5], row[6]))
      }
      return Recording(
        name: inertial.count > 1 ? "\(name)/\(file)" : name, samples: samples, fixes: fixes,
        truth: truth ?? own,
        speeds: speeds, isTruthFromReceiver: truth == nil)
    }
  }

  /// Columns: t,lat,lon,height,fix,sats,sdn,sde,sdu,vn,ve,vu
  private static func fix(_ row: [Double]) -> PositionFix {
    func finite(_ value: Double) -> Double? { value.isFinite ? value : nil }
    var fix = PositionFix(timestamp: Timestamp(seconds: row[0] + Recording.start), mode: .threeDimensional)
    if row[1].isFinite, row[2].isFinite { fix.coordinate = Coordinate(latitude: row[1], longitude: row[2]) }
    fix.altitudeEllipsoidal = finite(row[3])
    // Receivers report 95 %: a radius in the plane, an interval in height.
    fix.horizontalError = finite(2.4477 * ((row[6] * row[6] + row[7] * row[7]) / 2).squareRoot())
    fix.verticalError = finite(1.96 * row[8])
    if row[9].isFinite, row[10].isFinite {
      fix.speed = hypot(row[9], row[10])
      fix.course = normalizedDegrees(atan2(row[10], row[9]).degrees)
      fix.climb = finite(row[11])
    }
    return fix
  }

  /// Timestamps start well after zero, as some recordings have negative times.
  static let start = 1000.0

  private static func rows(of path: String, columns: Int) throws -> [[Double]] {
    let text = try String(contentsOfFile: path, encoding: .utf8)
    var rows: [[Double]] = []
    for (number, line) in text.split(separator: "\n").enumerated() where number > 0 {
      let fields = line.split(separator: ",", omittingEmptySubsequences: false)
      guard fields.count >= columns else {
        throw RecordingError(
          description: "\(path):\(number + 1): \(columns) columns expected, \(fields.count) found")
      }
      rows.append(fields.map { Double($0) ?? .nan })
    }
    guard !rows.isEmpty else { throw RecordingError(description: "\(path): no rows") }
    return rows
  }

  // MARK: Truth

  /// True position at a time of the receiver, interpolated.
  func position(at time: Double) -> Coordinate? {
    guard let (a, b, part) = neighbours(of: time) else { return nil }
    func mix(_ x: Double, _ y: Double) -> Double { x + part * (y - x) }
    return Coordinate(
      latitude: mix(a.coordinate.latitude, b.coordinate.latitude),
      longitude: mix(a.coordinate.longitude, b.coordinate.longitude))
  }

  func neighbours(of time: Double) -> (Truth, Truth, Double)? {
    guard let first = truth.first, let last = truth.last, time >= first.time, time <= last.time else {
      return nil
    }
    var (low, high) = (0, truth.count - 1)
    while high - low > 1 {
      let middle = (low + high) / 2
      if truth[middle].time <= time { low = middle } else { high = middle }
    }
    let span = truth[high].time - truth[low].time
    return (truth[low], truth[high], span > 0 ? (time - truth[low].time) / span : 0)
  }

  /// Metres driven between two times.
  func distance(from start: Double, to end: Double) -> Double {
    var sum = 0.0
    var previous: Coordinate?
    for time in stride(from: start, to: end, by: 0.5) {
      guard let here = position(at: time) else { continue }
      if let previous { sum += previous.distance(to: here) }
      previous = here
    }
    return sum
  }

  // MARK: Faults

  /// Turns the device by a random rotation.
  mutating func mount(seed: UInt64) {
    var state = seed
    func uniform() -> Double {
      // SplitMix64.
      state &+= 0x9E37_79B9_7F4A_7C15
      var z = state
      z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
      z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
      return Double((z ^ (z >> 31)) >> 11) * 0x1p-53
    }
    // K. Shoemake, "Uniform random rotations" (1992).
    let (u, a, b) = (uniform(), 2 * Double.pi * uniform(), 2 * Double.pi * uniform())
    let (s, c) = ((1 - u).squareRoot(), u.squareRoot())
    rotation = Quaternion(w: s * sin(a), x: s * cos(a), y: c * sin(b), z: c * cos(b))
    for index in samples.indices {
      samples[index].force = rotation.rotate(samples[index].force)
      samples[index].rate = rotation.rotate(samples[index].rate)
    }
  }

  mutating func shift(seconds: Double) {
    offset = seconds
    for index in samples.indices { samples[index].time += seconds }
  }

  /// Adds a gyroscope bias in rad/s on every axis.
  mutating func addBias(_ bias: Double) {
    for index in samples.indices { samples[index].rate += Vector3(repeating: bias) }
  }

  /// Picks single samples for at most the given rate in Hz, like a driver that reads a sensor at this rate.
  mutating func pick(to rate: Double) {
    let interval = (samples[samples.count - 1].time - samples[0].time) / Double(samples.count - 1)
    let factor = Int((1 / (rate * interval)).rounded())
    guard factor > 1 else { return }
    samples = stride(from: factor - 1, to: samples.count, by: factor).map { samples[$0] }
  }

  /// Averages consecutive samples for at most the given rate in Hz.
  mutating func decimate(to rate: Double) {
    let interval = (samples[samples.count - 1].time - samples[0].time) / Double(samples.count - 1)
    let factor = Int((1 / (rate * interval)).rounded())
    guard factor > 1 else { return }
    samples = stride(from: 0, to: samples.count - factor + 1, by: factor).map { start in
      var mean = Sample(time: samples[start + factor - 1].time, force: .zero, rate: .zero)
      for index in start..<start + factor {
        mean.force += samples[index].force / Double(factor)
        mean.rate += samples[index].rate / Double(factor)
      }
      return mean
    }
  }
}

struct RecordingError: Error, CustomStringConvertible {
  var description: String
}
