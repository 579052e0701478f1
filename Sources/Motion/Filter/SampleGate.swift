internal import Spatial

/// What every sample of one sensor must pass.
struct SampleGate: Sendable {
  enum Verdict {
    case good
    /// Equal to the last one, bit for bit.
    case repeated
    case nonFinite
    case outOfOrder
  }

  /// Larger values are taken for nonsense.
  private let greatest: Double
  private var last = Vector3.zero
  private var lastTime: Timestamp?
  /// Time of the last sample that differed from the one before.
  private(set) var lastChange: Timestamp?

  init(greatest: Double) { self.greatest = greatest }

  /// No sample has passed yet.
  var isSilent: Bool { lastTime == nil }

  @inline(__always)
  mutating func judge(_ value: Vector3, at time: Timestamp) -> Verdict {
    // A comparison with NaN is false.
    guard abs(value.x) < greatest, abs(value.y) < greatest, abs(value.z) < greatest else { return .nonFinite }
    if let lastTime, time <= lastTime { return .outOfOrder }
    let isFirst = lastTime == nil
    lastTime = time
    if !isFirst, value == last { return .repeated }
    last = value
    lastChange = time
    return .good
  }

  /// Whether it has repeated itself for `duration` s while `others` went on changing.
  func isStuck(at time: Timestamp, for duration: Double, others: SampleGate, _ third: SampleGate) -> Bool {
    guard let lastChange, time.seconds(since: lastChange) > duration else { return false }
    func varies(_ gate: SampleGate) -> Bool {
      guard let change = gate.lastChange else { return false }
      return change.seconds(since: lastChange) > 0.8 * duration
    }
    return varies(others) || varies(third)
  }
}
