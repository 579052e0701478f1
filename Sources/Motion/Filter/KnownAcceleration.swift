public import Spatial

/// An acceleration of the device that is known from elsewhere: a navigation filter's, or that of a receiver's speed and course.
///
/// The accelerometer cannot tell it from gravity. Handed to an `AttitudeFilter`, it is taken out of the specific force, and what is
/// left is gravity.
public struct KnownAcceleration: Hashable, Sendable {
  /// On the scans' time line.
  public var timestamp: Timestamp
  /// m/s², of the device against the earth, without gravity, device frame.
  public var vector: Vector3
  /// m/s² per axis, one standard deviation.
  public var deviation: Double

  /// - Parameters:
  ///   - vector: m/s², without gravity, device frame.
  ///   - deviation: m/s² per axis, one standard deviation; the smallest that is believed is 0.03.
  public init(timestamp: Timestamp, deviceFrame vector: Vector3, deviation: Double) {
    (self.timestamp, self.vector, self.deviation) = (timestamp, vector, deviation)
  }

  /// - Parameters:
  ///   - vector: m/s², without gravity, east, north, up.
  ///   - attitude: from the device frame to east, north, up.
  ///   - deviation: m/s² per axis, one standard deviation.
  public init(
    timestamp: Timestamp, eastNorthUp vector: Vector3, attitude: Quaternion, deviation: Double
  ) {
    self.init(
      timestamp: timestamp, deviceFrame: attitude.conjugate.rotate(vector), deviation: deviation)
  }
}

/// The known accelerations of the last moments, because scans wait for one another and come late.
struct AccelerationHistory: Sendable {
  private struct Entry: Sendable {
    var time = -Double.infinity
    var vector = Vector3.zero
    var deviation = 0.0
  }

  private var entries = InlineArray<32, Entry>(repeating: Entry())
  private var head = 0

  /// s between those that are kept, so that the history spans 1.5 s.
  private static let spacing = 0.045
  /// s for which one holds when none follows.
  private static let patience = 0.5

  /// Takes one at `time`, s; what is not finite or older than the newest is left out.
  mutating func append(_ vector: Vector3, deviation: Double, at time: Double) {
    let newest = entries[head].time
    guard vector.isFinite, deviation.isFinite, deviation >= 0, time.isFinite, time > newest else { return }
    let previous = entries[(head + 31) & 31].time
    // One that is too near to the one before the newest takes the newest's place.
    if newest - previous >= Self.spacing || newest == -.infinity { head = (head + 1) & 31 }
    entries[head] = Entry(time: time, vector: vector, deviation: deviation)
  }

  /// Between its neighbours; the newest for half a second; nil where none is known.
  func acceleration(at time: Double) -> (vector: Vector3, deviation: Double)? {
    var later = entries[head]
    guard time - later.time <= Self.patience else { return nil }
    if time >= later.time { return (later.vector, later.deviation) }
    for back in 1..<32 {
      let earlier = entries[(head + 32 - back) & 31]
      guard later.time - earlier.time <= Self.patience else { return nil }
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

  /// The time line is another.
  mutating func clear() { self = AccelerationHistory() }
}
