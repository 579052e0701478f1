import Foundation
import Motion
import Navigation
import Sensors
import Spatial

/// Tilt while driving, as available to a device without a magnetometer: from the attitude filter with and without navigation's
/// acceleration, from navigation itself, and from PyPI's vqf. The reference is the truth, or navigation with time running backward, which
/// is independent of the estimates.
enum Tilt {
  /// Up in the device frame, by second.
  private typealias Ups = [Int: Vector3]

  struct Failure: Error, CustomStringConvertible {
    var description: String
  }

  static let header =
    "data,reference,algorithm,n,tilt_rms_deg,tilt_p95_deg,tilt_worst_deg,inside_2sigma,bias_worst_deg_s,bias_inside_2sigma"

  static func print(_ recordings: [Recording], usesSpeed: Bool) throws {
    Swift.print(header)
    for recording in recordings {
      let navigated = play(recording, usesSpeed: usesSpeed, isAided: true)
      let alone = play(recording, usesSpeed: usesSpeed, isAided: false)
      let reference = reference(of: recording, usesSpeed: usesSpeed)
      let name = "\(recording.name),\(recording.isTruthFromReceiver ? "reverse" : "truth")"
      Swift.print("\(name),navigation,\(line(navigated.navigation, reference))")
      Swift.print("\(name),aided,\(line(navigated.filter, reference)),\(line(navigated, reference))")
      Swift.print("\(name),alone,\(line(alone.filter, reference)),\(line(alone, reference))")
      Swift.print("\(name),vqf,\(line(try vqf(recording), reference))")
    }
  }

  // MARK: Estimates

  private struct Played {
    var navigation: Ups = [:]
    var filter: Ups = [:]
    /// Stated deviation, degrees.
    var deviations: [Int: Double] = [:]
    /// Bias error of the worst axis relative to navigation's bias at the end, in °/s and in stated deviations.
    var biasErrors: [(error: Double, deviations: Double)] = []
  }

  private static func play(_ recording: Recording, usesSpeed: Bool, isAided: Bool) -> Played {
    var played = Played()
    var replay = Replay(usesSpeed: usesSpeed)
    var (screen, filter) = (ScanScreen(), AttitudeFilter())
    var index = 0
    var next = -Double.infinity
    var states: [AttitudeFilter.State] = []
    replay.play(recording, until: .infinity) { navigation, now in
      let sample = recording.samples[index]
      index += 1
      let timestamp = Timestamp(seconds: sample.time + Recording.start)
      var scan = InertialScan(
        timestamp: timestamp, specificForce: sample.force, rotationRate: sample.rate)
      let estimate = navigation.estimate
      if isAided, let estimate {
        filter.process(
          KnownAcceleration(
            timestamp: timestamp,
            deviceFrame: estimate.attitude.conjugate.rotate(estimate.acceleration)
              + estimate.accelerometerBias,
            deviation: standardGravity * estimate.tiltDeviation.radians))
      }
      let doubts = screen.admit(&scan)
      filter.process(scan, doubts: doubts)
      guard now >= next else { return true }
      next = now.rounded(.down) + 1
      guard recording.isDriving(at: now - recording.offset) else { return true }
      let second = Int((now - recording.offset).rounded(.down))
      played.filter[second] = filter.quaternion6D.conjugate.rotate(Vector3(0, 0, 1))
      played.deviations[second] = filter.state.inclinationDeviation * 180 / .pi
      states.append(filter.state)
      played.navigation[second] = estimate?.attitude.conjugate.rotate(Vector3(0, 0, 1))
      return true
    }
    if let bias = replay.filter.estimate?.gyroscopeBias {
      played.biasErrors = states.map { state in
        let error = state.gyroscopeBias - bias
        let size = Vector3(abs(error.x), abs(error.y), abs(error.z))
        return (size.max() * 180 / .pi, (size / state.gyroscopeBiasDeviation).max())
      }
    }
    return played
  }

  private static func vqf(_ recording: Recording) throws -> Ups {
    let folder = FileManager.default.temporaryDirectory
      .appendingPathComponent("tilt-peers-\(ProcessInfo.processInfo.processIdentifier)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let input = folder.appendingPathComponent("input.f64")
    let values = recording.samples.flatMap { sample -> [Double] in
      let (g, a) = (sample.rate, sample.force)
      return [sample.time, g.x, g.y, g.z, a.x, a.y, a.z, 0, 0, 0, 0]
    }
    try values.withUnsafeBytes { Data($0) }.write(to: input)
    let script = URL(fileURLWithPath: #filePath)
      .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
      .appendingPathComponent("Peers/peers.py")
    let samples = recording.samples
    let period = (samples[samples.count - 1].time - samples[0].time) / Double(samples.count - 1)
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = ["python3", script.path, input.path, folder.path, String(period)]
    process.standardOutput = Pipe()
    try process.run()
    process.waitUntilExit()
    guard process.terminationStatus == 0 else {
      throw Failure(description: "peers.py failed; it requires `pip install numpy vqf imufusion`")
    }
    let data = try Data(contentsOf: folder.appendingPathComponent("vqf.f64"))
    guard data.count == samples.count * 32 else { throw Failure(description: "attitudes of vqf missing") }
    var ups: Ups = [:]
    for (index, sample) in samples.enumerated() {
      let second = Int((sample.time - recording.offset).rounded(.down))
      guard ups[second] == nil, recording.isDriving(at: sample.time - recording.offset) else { continue }
      let q = data.withUnsafeBytes { bytes in
        (0..<4).map { bytes.loadUnaligned(fromByteOffset: index * 32 + $0 * 8, as: Double.self) }
      }
      ups[second] = Quaternion(w: q[0], x: q[1], y: q[2], z: q[3]).conjugate.rotate(Vector3(0, 0, 1))
    }
    return ups
  }

  // MARK: Reference

  /// Reference of the first sample of each second.
  private static func reference(of recording: Recording, usesSpeed: Bool) -> Ups {
    let samples = recording.samples
    var times: [Int: Double] = [:]
    for sample in samples {
      let time = sample.time - recording.offset
      let second = Int(time.rounded(.down))
      if times[second] == nil { times[second] = time }
    }
    var ups: Ups = [:]
    guard recording.isTruthFromReceiver else {
      for (second, time) in times {
        guard let attitude = recording.motion(at: time)?.attitude else { continue }
        ups[second] = (recording.rotation * attitude.conjugate).rotate(Vector3(0, 0, 1))
      }
      return ups
    }
    let wanted = Set(times.values)
    var replay = Replay(usesSpeed: usesSpeed)
    let reversed = recording.reversed()
    replay.play(reversed, until: .infinity) { navigation, now in
      let time = -(now - reversed.offset)
      if wanted.contains(time), let estimate = navigation.estimate {
        ups[Int(time.rounded(.down))] = estimate.attitude.conjugate.rotate(Vector3(0, 0, 1))
      }
      return true
    }
    return ups
  }

  // MARK: Table

  private static func degrees(_ a: Vector3, _ b: Vector3) -> Double {
    atan2(a.cross(b).length, a.dot(b)) * 180 / .pi
  }

  private static func line(_ ups: Ups, _ reference: Ups) -> String {
    let errors = ups.compactMap { second, up in reference[second].map { degrees(up, $0) } }.sorted()
    guard let worst = errors.last else { return "0,,," }
    let square = errors.reduce(0) { $0 + $1 * $1 } / Double(errors.count)
    return String(
      format: "%d,%.3f,%.3f,%.3f", errors.count, square.squareRoot(), errors[errors.count * 95 / 100], worst)
  }

  /// Shares within two stated deviations: of the tilt, and of the worst axis of the bias.
  private static func line(_ played: Played, _ reference: Ups) -> String {
    let inside = played.filter.compactMap { second, up -> Bool? in
      guard let there = reference[second], let deviation = played.deviations[second] else { return nil }
      return degrees(up, there) <= 2 * deviation
    }
    let share = Double(inside.filter { $0 }.count) / Double(max(1, inside.count))
    let errors = played.biasErrors
    let biasInside = Double(errors.filter { $0.deviations <= 2 }.count) / Double(max(1, errors.count))
    return String(format: "%.3f,%.2f,%.3f", share, errors.map(\.error).max() ?? .nan, biasInside)
  }
}

extension Recording {
  fileprivate func isDriving(at time: Double) -> Bool { (motion(at: time)?.speed ?? 0) > Accuracy.driving }
}
