import Foundation
import Navigation
import Sensors
import Spatial

/// Accuracy of attitude, heading and mounting while the vehicle drives with a receiver.
struct Accuracy {
  /// Speeds in m/s from which a sample counts as driving, and from which its heading counts.
  static let driving = 1.0
  static let headingSpeed = 5.0
  /// Seconds of driving after which the mounting is evaluated.
  static let mountingTime = 300.0

  /// Tilt errors in degrees, one per second, in the frame of the samples.
  var tilts: [Vector3] = []
  /// Signed errors of the vehicle's heading, degrees.
  var headings: [Double] = []
  /// Mounting after five minutes of driving, and its stated deviation about the vehicle's right and up axes.
  var mounting: Quaternion?
  var mountingDeviation = SIMD2<Double>.zero
  /// Mounting at the end.
  var lastMounting: Quaternion?

  /// Up in the device frame, as estimated by the filter at a time.
  private struct Moment {
    var time: Double
    var up: Vector3
  }

  /// - Parameter recording: if its truth has no attitude, tilts are compared with those of the recording played backward.
  init(_ recording: Recording, usesSpeed: Bool) {
    let hasAttitude = recording.truth[0].attitude != nil
    let forward = Self.moments(recording, usesSpeed: usesSpeed, &self)
    guard !hasAttitude else { return }
    var unused = self
    let backward = Self.moments(recording.reversed(), usesSpeed: usesSpeed, &unused)
    tilts = Self.differences(forward, backward.reversed().map { Moment(time: -$0.time, up: $0.up) })
    headings = []
  }

  private static func moments(
    _ recording: Recording, usesSpeed: Bool, _ accuracy: inout Accuracy
  ) -> [Moment] {
    var replay = Replay(usesSpeed: usesSpeed)
    var moments: [Moment] = []
    var own = (
      tilts: [Vector3](), headings: [Double](), next: -Double.infinity, driven: 0.0, last: Double?.none
    )
    var mounting: (Quaternion, SIMD2<Double>)?
    replay.play(recording, until: .infinity) { filter, now in
      let truthTime = now - recording.offset
      let interval = own.last.map { now - $0 } ?? 0
      own.last = now
      guard let estimate = filter.estimate, let (speed, attitude) = recording.motion(at: truthTime) else {
        return true
      }
      guard speed > Self.driving else { return true }
      own.driven += interval
      if own.driven >= Self.mountingTime, mounting == nil {
        mounting = (estimate.mounting, estimate.mountingDeviation)
      }
      guard now >= own.next else { return true }
      own.next = now.rounded(.down) + 1
      moments.append(Moment(time: truthTime, up: estimate.attitude.conjugate.rotate(Vector3(0, 0, 1))))
      guard let attitude else { return true }
      let up = (recording.rotation * attitude.conjugate).rotate(Vector3(0, 0, 1))
      own.tilts.append(difference(up, moments[moments.count - 1].up))
      guard speed > Self.headingSpeed else { return true }
      let ahead = attitude.rotate(Vector3(0, 1, 0))
      let error = (estimate.heading.radians - atan2(ahead.x, ahead.y)).degrees
      own.headings.append(error - 360 * (error / 360).rounded())
      return true
    }
    (accuracy.tilts, accuracy.headings) = (own.tilts, own.headings)
    if let mounting { (accuracy.mounting, accuracy.mountingDeviation) = mounting }
    accuracy.lastMounting = replay.filter.estimate?.mounting
    return moments
  }

  /// Degrees between the filter's tilts at the same times when the recording is played forward and backward. The two estimates use
  /// different data, so the error of each is the difference divided by √2.
  private static func differences(_ forward: [Moment], _ backward: [Moment]) -> [Vector3] {
    var index = 0
    return forward.compactMap { moment in
      while index + 1 < backward.count,
        abs(backward[index + 1].time - moment.time) <= abs(backward[index].time - moment.time)
      {
        index += 1
      }
      guard index < backward.count, abs(backward[index].time - moment.time) < 0.06 else { return nil }
      return difference(moment.up, backward[index].up) / 2.squareRoot()
    }
  }

  // MARK: Table

  /// Prints attitude errors of every drive as recorded, then errors of the mounting from random mountings.
  static func print(_ recordings: [Recording], seeds: Int, usesSpeed: Bool) {
    let recorded = recordings.map { Accuracy($0, usesSpeed: usesSpeed) }
    Swift.print(header)
    for (recording, accuracy) in zip(recordings, recorded) {
      Swift.print(
        accuracy.line(name: recording.name, reference: recording.isTruthFromReceiver ? "reverse" : "truth"))
    }
    Swift.print(mountingHeader)
    for (original, accuracy) in zip(recordings, recorded) {
      guard let reference = accuracy.lastMounting else { continue }
      for seed in 1...UInt64(max(1, seeds)) {
        var recording = original
        recording.mount(seed: seed)
        let turned = Accuracy(recording, usesSpeed: usesSpeed)
        Swift.print(
          turned.mountingLine(
            name: original.name, seed: seed, reference: reference, rotation: recording.rotation))
      }
    }
  }

  static let header =
    "data,reference,n,tilt_rms_deg,tilt_p95_deg,tilt_constant_deg,tilt_rest_rms_deg,heading_n,heading_rms_deg,heading_mean_deg,heading_p95_deg"

  func line(name: String, reference: String) -> String {
    let sorted = headings.map(abs).sorted()
    let heading =
      headings.isEmpty
      ? "0,,,"
      : String(
        format: "%d,%.2f,%.2f,%.2f", headings.count, Self.rms(headings),
        headings.reduce(0, +) / Double(headings.count), sorted[sorted.count * 95 / 100])
    // The reference device is not mounted exactly like the sensor.
    let constant = tilts.reduce(.zero, +) / Double(max(1, tilts.count))
    let lengths = tilts.map(\.length)
    return String(
      format: "%@,%@,%d,%.3f,%.3f,%.3f,%.3f,%@", name, reference, tilts.count, Self.rms(lengths),
      lengths.isEmpty ? .nan : lengths.sorted()[lengths.count * 95 / 100], constant.length,
      Self.rms(tilts.map { ($0 - constant).length }), heading)
  }

  static let mountingHeader =
    "data,seed,yaw_deg,pitch_deg,stated_yaw_deg,stated_pitch_deg"

  /// Returns the error of the mounting after five minutes relative to that at the end of the recorded drive.
  func mountingLine(name: String, seed: UInt64, reference: Quaternion, rotation: Quaternion) -> String {
    guard let mounting else { return "\(name),\(seed),,,," }
    let apart = mounting * rotation * reference.conjugate
    // For an angle of a few degrees, twice the sine of the half angle is the angle.
    let error = (apart.w < 0 ? -2.0 : 2) * Vector3(apart.x, apart.y, apart.z)
    return String(
      format: "%@,%d,%.2f,%.2f,%.2f,%.2f", name, seed, error.z.degrees, error.x.degrees,
      mountingDeviation.y, mountingDeviation.x)
  }

  private static func rms(_ values: [Double]) -> Double {
    (values.map { $0 * $0 }.reduce(0, +) / Double(max(1, values.count))).squareRoot()
  }
}

/// Returns the rotation in degrees from one direction to another, by axis.
private func difference(_ a: Vector3, _ b: Vector3) -> Vector3 {
  let axis = a.cross(b)
  let (sine, cosine) = (axis.length, a.dot(b))
  return sine > 0 ? axis * (atan2(sine, cosine).degrees / sine) : .zero
}

extension Recording {
  /// Returns the ground speed in m/s, and the attitude (right, forward, up to east, north, up) if the truth has it.
  func motion(at time: Double) -> (speed: Double, attitude: Quaternion?)? {
    guard let (a, b, part) = neighbours(of: time), b.time - a.time < 3 else { return nil }
    func mix(_ x: Double, _ y: Double) -> Double { x + part * (y - x) }
    // Interpolates on the shorter arc.
    func turn(_ x: Double, _ y: Double) -> Double { x + part * (y - x - 360 * ((y - x) / 360).rounded()) }
    guard let first = a.attitude, let second = b.attitude else { return (mix(a.speed, b.speed), nil) }
    let (roll, pitch) = (mix(first.x, second.x).radians, mix(first.y, second.y).radians)
    let azimuth = turn(first.z, second.z).radians
    return (
      mix(a.speed, b.speed),
      Quaternion(angle: -azimuth, axis: Vector3(0, 0, 1)) * Quaternion(angle: pitch, axis: Vector3(1, 0, 0))
        * Quaternion(angle: roll, axis: Vector3(0, 1, 0))
    )
  }

  /// Returns the same drive with time running backward: velocities and rates change their signs, forces do not.
  func reversed() -> Recording {
    var reversed = self
    reversed.samples = samples.reversed().map { Sample(time: -$0.time, force: $0.force, rate: -$0.rate) }
    reversed.fixes = fixes.reversed().map { time, fix in
      var fix = fix
      fix.timestamp = Timestamp(seconds: -time + Recording.start)
      fix.course = fix.course.map { normalizedDegrees($0 + 180) }
      fix.climb = fix.climb.map { -$0 }
      return (-time, fix)
    }
    reversed.truth = truth.reversed().map { truth in
      var truth = truth
      truth.time = -truth.time
      return truth
    }
    reversed.speeds = speeds.reversed().map { (-$0.time, $0.speed) }
    reversed.offset = -offset
    return reversed
  }
}
