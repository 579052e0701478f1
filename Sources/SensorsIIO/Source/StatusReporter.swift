internal import Platform
internal import Sensors
internal import Spatial

/// Says a source's state once per change, however often it is found out.
final class StatusReporter: Sendable {
  private struct Key: Hashable, Sendable {
    var kinds: Set<SensorKind>
  }
  private let last = Locked<[Key: SourceStatus.State]>([:])
  private let sink: SensorSink

  init(_ sink: @escaping SensorSink) { self.sink = sink }

  /// Passes the state on unless the kinds are in it already. Two reasons for being unavailable are one state.
  func report(
    _ state: SourceStatus.State, source: String, kinds: Set<SensorKind>, device: String? = nil
  ) {
    guard !kinds.isEmpty else { return }
    let isNews = last.withLock { last in
      let key = Key(kinds: kinds)
      if let known = last[key], known.isSame(as: state) { return false }
      last[key] = state
      return true
    }
    guard isNews else { return }
    sink(
      .status(
        SourceStatus(
          timestamp: Timestamp(nanoseconds: SystemClock.boottime), source: source, kinds: kinds, state: state,
          device: device)))
  }

  /// Which of the kinds are not known to be unavailable yet.
  func notYetUnavailable(_ kinds: Set<SensorKind>) -> Set<SensorKind> {
    let known = last.withLock { last in
      last.filter { if case .unavailable = $0.value { true } else { false } }.keys.reduce(into: Set()) {
        $0.formUnion($1.kinds)
      }
    }
    return kinds.subtracting(known)
  }

  /// Forgets what was said of kinds that are now grouped otherwise.
  func regroup(_ kinds: Set<SensorKind>) {
    let key = Key(kinds: kinds)
    last.withLock { last in
      last = last.filter { $0.key == key || $0.key.kinds.isDisjoint(with: kinds) }
    }
  }
}

extension SourceStatus.State {
  fileprivate func isSame(as other: SourceStatus.State) -> Bool {
    if case .unavailable = self, case .unavailable = other { return true }
    return self == other
  }
}
