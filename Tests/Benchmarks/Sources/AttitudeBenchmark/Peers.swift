import Foundation
import Spatial

/// The PyPI packages `vqf` and `imufusion`, run by `Peers/peers.py` on the same samples.
enum Peers {
  struct Failure: Error, CustomStringConvertible {
    var description: String
  }

  /// Scores by algorithm, in the order of the script.
  static func run(_ trial: Trial) throws -> [(algorithm: String, score: Score)] {
    try estimates(trial).map { ($0.algorithm, Score($0.estimates, trial, nanoseconds: $0.nanoseconds)) }
  }

  /// Attitudes by algorithm, in the order of the script, with the time per sample in ns.
  static func estimates(_ trial: Trial, only algorithm: String? = nil) throws
    -> [(algorithm: String, estimates: [Quaternion?], nanoseconds: Double)]
  {
    let folder = FileManager.default.temporaryDirectory
      .appendingPathComponent("attitude-peers-\(ProcessInfo.processInfo.processIdentifier)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let input = folder.appendingPathComponent("input.f64")
    try write(trial, to: input)
    let script = URL(fileURLWithPath: #filePath)
      .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
      .appendingPathComponent("Peers/peers.py")
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments =
      ["python3", script.path, input.path, folder.path, String(1 / trial.rate)]
      + (algorithm.map { [$0] } ?? [])
    let output = Pipe()
    process.standardOutput = output
    try process.run()
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    guard process.terminationStatus == 0 else {
      throw Failure(description: "peers.py failed; it requires `pip install numpy vqf imufusion`")
    }
    return try text.split(separator: "\n").map { line in
      let fields = line.split(separator: ",")
      guard fields.count == 2, let nanoseconds = Double(fields[1]) else {
        throw Failure(description: "unexpected output of peers.py: \(line)")
      }
      let name = String(fields[0])
      let estimates = try readQuaternions(folder.appendingPathComponent(name + ".f64"))
      guard estimates.count == trial.count else {
        throw Failure(description: "\(name) returned \(estimates.count) attitudes for \(trial.count) samples")
      }
      return (name, estimates, nanoseconds)
    }
  }

  /// Writes rows of time, rate, force, field and 1 if the field is new, as float64.
  private static func write(_ trial: Trial, to url: URL) throws {
    var values: [Double] = []
    values.reserveCapacity(trial.count * 11)
    for i in 0..<trial.count {
      let (g, a, m) = (trial.rates[i], trial.forces[i], trial.fields[i])
      values += [trial.times[i], g.x, g.y, g.z, a.x, a.y, a.z, m.x, m.y, m.z, trial.hasField[i] ? 1 : 0]
    }
    try values.withUnsafeBytes { Data($0) }.write(to: url)
  }

  private static func readQuaternions(_ url: URL) throws -> [Quaternion?] {
    let data = try Data(contentsOf: url)
    return data.withUnsafeBytes { bytes in
      (0..<data.count / 32).map { i in
        func value(_ k: Int) -> Double {
          bytes.loadUnaligned(fromByteOffset: i * 32 + k * 8, as: Double.self)
        }
        let q = Quaternion(w: value(0), x: value(1), y: value(2), z: value(3))
        return q.isFinite && q.norm > 0.5 ? q : nil
      }
    }
  }
}
