import Foundation
import Spatial

/// A recorded trial: sensor samples and reference attitudes.
struct Trial {
  struct Reference {
    var attitude: Quaternion
    var isMoving: Bool

    /// The reference for sensors that are turned in the device.
    func turned(by turn: Quaternion) -> Reference {
      Reference(attitude: attitude * turn, isMoving: isMoving)
    }
  }

  var name: String
  /// Times of the samples, s.
  var times: [Double] = []
  /// Rotation rates, rad/s.
  var rates: [Vector3] = []
  /// Specific forces, m/s².
  var forces: [Vector3] = []
  /// Magnetic fields, µT.
  var fields: [Vector3] = []
  /// True if the magnetometer has a new sample.
  var hasField: [Bool] = []
  /// Rotation from the device to east-north-up; nil if it was lost.
  var references: [Reference?] = []
  /// Index of the first sample whose error counts.
  var scoredFrom = 0

  /// Sampling rate in Hz; that of all BROAD recordings until the trial is decimated.
  private(set) var rate = 2000.0 / 7

  init(name: String, rate: Double) { (self.name, self.rate) = (name, rate) }

  /// Reads 14 little-endian float32 per sample: acceleration, rate, field, reference quaternion, movement flag.
  init(contentsOf url: URL) throws {
    name = url.deletingPathExtension().lastPathComponent
    let data = try Data(contentsOf: url)
    let rowLength = 14 * 4
    let count = data.count / rowLength
    data.withUnsafeBytes { bytes in
      for i in 0..<count {
        func value(_ k: Int) -> Double {
          let bits = bytes.loadUnaligned(fromByteOffset: i * rowLength + k * 4, as: UInt32.self)
          return Double(Float(bitPattern: UInt32(littleEndian: bits)))
        }
        func vector(_ k: Int) -> Vector3 { Vector3(value(k), value(k + 1), value(k + 2)) }
        times.append(Double(i) / rate)
        forces.append(vector(0))
        rates.append(vector(3))
        fields.append(vector(6))
        hasField.append(true)
        let q = Quaternion(w: value(9), x: value(10), y: value(11), z: value(12))
        references.append(q.isFinite ? Reference(attitude: q, isMoving: value(13) > 0.5) : nil)
      }
    }
  }

  /// Reads all trials of a folder, sorted by name.
  static func all(in folder: String) throws -> [Trial] {
    let urls = try FileManager.default.contentsOfDirectory(
      at: URL(fileURLWithPath: folder), includingPropertiesForKeys: nil)
    return try urls.filter { $0.pathExtension == "f32" }
      .sorted { $0.lastPathComponent < $1.lastPathComponent }
      .map { try Trial(contentsOf: $0) }
  }

  var count: Int { times.count }

  /// 1 for the trials used to select the filter's constants, 2 for those used for tests only.
  var half: Int {
    ["02", "07", "11", "16", "24", "34"].contains { name.hasPrefix($0 + "_") } ? 1 : 2
  }

  /// Index of the first sample with the movement flag; 0 if there is none.
  var movementStart: Int { references.firstIndex { $0?.isMoving ?? false } ?? 0 }

  /// Retains every n-th sample, like a sensor that is read less often.
  mutating func decimate(by factor: Int) {
    filter((0..<count).map { $0 % factor == 0 })
    rate /= Double(factor)
  }

  /// Retains the samples for which `keep` is true.
  mutating func filter(_ keep: [Bool]) {
    func kept<T>(_ values: [T]) -> [T] { zip(values, keep).filter(\.1).map(\.0) }
    scoredFrom = keep.prefix(scoredFrom).filter { $0 }.count
    times = kept(times)
    rates = kept(rates)
    forces = kept(forces)
    fields = kept(fields)
    hasField = kept(hasField)
    references = kept(references)
  }
}
