import Platform
import Sensors

/// A sensor source controlled by the test.
final class TestSource: SensorSource {
  let name = "test"
  let kinds: Set<SensorKind>
  private let state = Locked<(sink: SensorSink?, demands: [SensorKind: SensorDemand])>((nil, [:]))

  init(_ kinds: Set<SensorKind>) { self.kinds = kinds }

  func start(_ sink: @escaping SensorSink) { state.withLock { $0.sink = sink } }
  func setDemand(_ demand: SensorDemand, for kind: SensorKind) {
    state.withLock { $0.demands[kind] = demand }
  }
  func stop() { state.withLock { $0.sink = nil } }

  func push(_ event: SensorEvent) { state.withLock(\.sink)?(event) }
  func demand(_ kind: SensorKind) -> SensorDemand { state.withLock { $0.demands[kind] ?? .off } }
}
