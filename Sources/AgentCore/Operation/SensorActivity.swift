internal import Sensors
internal import Spatial

/// Counts what has come of each kind of sensor, and how fast. Time comes with the events.
struct SensorActivity: Sendable {
  struct Kind: Sendable, Hashable {
    /// Samples since the start.
    var samples = 0
    var last = Timestamp(nanoseconds: 0)
    /// Hz, over the last whole window; nil before its end.
    var rate: Double?
    /// Seconds since the newest, when the snapshot was taken.
    var age: Double?
    fileprivate var windowStart: Timestamp?
    fileprivate var inWindow = 0
  }

  /// Seconds over which a rate is taken.
  fileprivate static let window = 5.0

  private var kinds: [SensorKind: Kind] = [:]

  /// What has come until now, with the ages of the newest.
  func kinds(at now: Timestamp) -> [SensorKind: Kind] {
    kinds.mapValues { kind in
      var kind = kind
      kind.age = max(0, now.seconds(since: kind.last))
      return kind
    }
  }

  mutating func observe(_ event: SensorEvent) {
    guard let time = event.timestamp else { return }
    for kind in SensorKind.allCases {
      let count = event.count(of: kind)
      if count > 0 { kinds[kind, default: Kind()].observe(count, at: time) }
    }
  }
}

extension SensorActivity.Kind {
  fileprivate mutating func observe(_ count: Int, at time: Timestamp) {
    samples += count
    last = time
    guard let start = windowStart, time >= start else {
      (windowStart, inWindow) = (time, 0)
      return
    }
    inWindow += count
    let length = time.seconds(since: start)
    guard length >= SensorActivity.window else { return }
    rate = Double(inWindow) / length
    (windowStart, inWindow) = (time, 0)
  }
}
