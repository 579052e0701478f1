public import Spatial

/// An acceleration of the device from an external source: a navigation filter, or a receiver's speed and
/// course.
///
/// The accelerometer cannot separate acceleration from gravity. `AttitudeFilter` subtracts this acceleration
/// from the specific force; the remainder is gravity.
public struct KnownAcceleration: Hashable, Sendable {
  /// Time on the clock of the inertial scans.
  public var timestamp: Timestamp
  /// Acceleration in m/s² relative to the earth, without gravity, device frame.
  public var vector: Vector3
  /// Standard deviation per axis in m/s².
  public var deviation: Double

  /// - Parameters:
  ///   - vector: acceleration in m/s², without gravity, device frame.
  ///   - deviation: standard deviation per axis in m/s²; values below 0.03 count as 0.03.
  public init(timestamp: Timestamp, deviceFrame vector: Vector3, deviation: Double) {
    (self.timestamp, self.vector, self.deviation) = (timestamp, vector, deviation)
  }

  /// - Parameters:
  ///   - vector: acceleration in m/s², without gravity, in east, north, up.
  ///   - attitude: rotation from the device frame to east, north, up.
  ///   - deviation: standard deviation per axis in m/s².
  public init(
    timestamp: Timestamp, eastNorthUp vector: Vector3, attitude: Quaternion, deviation: Double
  ) {
    self.init(
      timestamp: timestamp, deviceFrame: attitude.conjugate.rotate(vector), deviation: deviation)
  }
}

/// Recent external accelerations. A history is required because scans wait for each other and are processed
/// late.
struct AccelerationHistory: Sendable {
  private struct Entry: Sendable {
    var time = -Double.infinity
    var vector = Vector3.zero
    var deviation = 0.0
  }

  private var entries = InlineArray<32, Entry>(repeating: Entry())
  private var head = 0

  /// Spacing of stored entries in s, for a history of 1.5 s.
  private static let spacing = 0.045
  /// Validity in s of an entry without a successor.
  private static let validity = 0.5

  /// Appends an acceleration at `time` in s. Values that are not finite or older than the newest are ignored.
  mutating func append(_ vector: Vector3, deviation: Double, at time: Double) {
    let newest = entries[head].time
    guard vector.isFinite, deviation.isFinite, deviation >= 0, time.isFinite, time > newest else { return }
    let previous = entries[(head + 31) & 31].time
    // If the newest entry is too close to the one before it, the new acceleration replaces it.
    if newest - previous >= Self.spacing || newest == -.infinity { head = (head + 1) & 31 }
    entries[head] = Entry(time: time, vector: vector, deviation: deviation)
  }

  /// Returns the acceleration in m/s² and its standard deviation, interpolated between its neighbours in
  /// time. After the newest entry, that entry applies for half a second; nil if there is none.
  func acceleration(at time: Double) -> (vector: Vector3, deviation: Double)? {
    var later = entries[head]
    guard time - later.time <= Self.validity else { return nil }
    if time >= later.time { return (later.vector, later.deviation) }
    for back in 1..<32 {
      let earlier = entries[(head + 32 - back) & 31]
      guard later.time - earlier.time <= Self.validity else { return nil }
      if earlier.time <= time {
        let part = (time - earlier.time) / (later.time - earlier.time)
        return (
          earlier.vector + part * (later.vector - earlier.vector), max(earlier.deviation, later.deviation)
        )
      }
      later = earlier
    }
    return nil
  }

  /// Clears the history when timestamps start again from another origin.
  mutating func clear() { self = AccelerationHistory() }
}
