internal import Spatial

/// The most recent strapdown attitudes, used to evaluate delayed sensors with the attitude of their own time.
struct AttitudeHistory: Sendable {
  struct Entry: Sendable {
    var time = -Double.infinity
    var attitude = Quaternion.identity
    /// Rotation rate in rad/s, device frame.
    var rate = Vector3.zero
  }

  private static let capacity = 64
  /// Minimum spacing in s of stored samples, so that the history spans at least 0.15 s at any sample rate.
  private static let spacing = 0.0025

  private var entries: InlineArray<64, Entry>
  /// Index of the newest stored entry.
  private var head = 0
  /// The newest sample, whether stored or not.
  private(set) var newest = Entry()

  init() { entries = InlineArray(repeating: Entry()) }

  @inline(__always)
  mutating func append(_ attitude: Quaternion, rate: Vector3, at time: Double) {
    newest = Entry(time: time, attitude: attitude, rate: rate)
    guard time - entries[head].time >= Self.spacing else { return }
    head = (head + 1) & (Self.capacity - 1)
    entries[head] = newest
  }

  /// Returns the attitude at `time`: interpolated, extrapolated from the newest sample, or the oldest stored
  /// one if `time` precedes it. The function is mutating only because reading one entry through a read access
  /// copies all entries.
  @inline(__always)
  mutating func state(at time: Double) -> Entry {
    if time >= newest.time {
      let ahead = min(time - newest.time, 0.1)
      guard ahead > 0 else { return newest }
      return Entry(
        time: time,
        attitude: newest.attitude.times(Quaternion(smallRotation: ahead * newest.rate)).renormalized,
        rate: newest.rate)
    }
    var later = newest
    var index = head
    for _ in 0..<Self.capacity {
      let earlier = entries[index]
      if earlier.time <= time { return Self.between(earlier, later, at: time) }
      later = earlier
      index = (index + Self.capacity - 1) & (Self.capacity - 1)
    }
    return later
  }

  @inline(__always)
  private static func between(_ a: Entry, _ b: Entry, at time: Double) -> Entry {
    let span = b.time - a.time
    // Interpolation requires two samples.
    guard span.isFinite, span > 0 else { return b }
    let f = (time - a.time) / span
    let p = a.attitude
    let q = b.attitude
    let sign = p.w * q.w + p.x * q.x + p.y * q.y + p.z * q.z < 0 ? -1.0 : 1.0
    let g = sign * f
    let e = 1 - f
    let blend = Quaternion(
      w: e * p.w + g * q.w, x: e * p.x + g * q.x, y: e * p.y + g * q.y, z: e * p.z + g * q.z)
    return Entry(time: time, attitude: blend.renormalized.renormalized, rate: a.rate + f * (b.rate - a.rate))
  }

  /// Rotates the whole history with its reference frame.
  mutating func turn(by rotation: Quaternion) {
    for i in 0..<Self.capacity { entries[i].attitude = (rotation * entries[i].attitude).normalized }
    newest.attitude = (rotation * newest.attitude).normalized
  }

  /// Removes all entries but the newest.
  mutating func clear() {
    entries = InlineArray(repeating: Entry())
    head = 0
    entries[0] = newest
  }
}
