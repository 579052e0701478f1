package import Sensors
package import Spatial

/// Counts the samples of each kind of sensor and their rates. Time comes with the events.
package struct SensorActivity: Sendable {
  package struct Kind: Sendable, Hashable {
    /// Number of samples since the start.
    var samples = 0
    var last = Timestamp(nanoseconds: 0)
    /// Rate in Hz over the last complete window; nil before its end.
    var rate: Double?
    /// Age in s of the newest sample at the snapshot.
    var age: Double?
    fileprivate var windowStart: Timestamp?
    fileprivate var inWindow = 0
  }

  /// Length in s of the window for a rate.
  fileprivate static let window = 5.0

  private var kinds: [SensorKind: Kind] = [:]

  /// Returns the activity until now, with the ages of the newest samples.
  package func kinds(at now: Timestamp) -> [SensorKind: Kind] {
    kinds.mapValues { kind in
      var kind = kind
      kind.age = max(0, now.seconds(since: kind.last))
      return kind
    }
  }

  package mutating func observe(_ event: SensorEvent) {
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
