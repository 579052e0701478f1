internal import Platform
internal import Sensors

/// The consumers of data that belong neither to motion nor to location: signals of the vehicle's CAN bus, and
/// radio scans.
final class LiveReadings: Sendable {
  private struct State {
    var vehicle = SampleOutlets<VehicleReading>()
    var radio = SampleOutlets<RadioScan>()
    /// The time in s between scans that each consumer of `radio` requests, by the consumer's number.
    var intervals: [Int: Double] = [:]
    var nextConsumer = 0
    var isFinished = false
  }

  private let state = Locked(State())
  private let needsChanged: @Sendable () -> Void

  init(needsChanged: @escaping @Sendable () -> Void) { self.needsChanged = needsChanged }

  var hasConsumers: Bool { state.withLock { !$0.vehicle.isEmpty || !$0.radio.isEmpty } }

  /// The demands on the radios. The CAN bus has no demand, because the device only listens to it.
  var demands: [SensorKind: SensorDemand] {
    guard let interval = state.withLock({ $0.intervals.values.min() }) else { return [:] }
    let demand = SensorDemand.rate(hertz: 1 / interval, latency: .seconds(1))
    return [.wifi: demand, .cellular: demand]
  }

  func process(_ event: SensorEvent) {
    state.withLock { state in
      switch event {
      case .vehicle(let readings): for reading in readings { state.vehicle.push(reading) }
      case .radio(let scans): for scan in scans { state.radio.push(scan) }
      case .inertial, .barometer, .position, .status: break
      }
    }
  }

  func vehicle(_ outlet: SampleOutlet<VehicleReading>) -> Subscription {
    subscribe(outlet, { $0.vehicle.add(outlet, as: $1) }, { $0.vehicle.remove($1) })
  }

  func radio(_ interval: Double, _ outlet: SampleOutlet<RadioScan>) -> Subscription {
    subscribe(
      outlet,
      { state, consumer in
        state.radio.add(outlet, as: consumer)
        state.intervals[consumer] = max(1, interval)
      },
      { state, consumer in
        state.radio.remove(consumer)
        state.intervals[consumer] = nil
      })
  }

  func finish() {
    let ends = state.withLock { state in
      state.isFinished = true
      state.intervals = [:]
      return state.vehicle.removeAll() + state.radio.removeAll()
    }
    for end in ends { end() }
  }

  private func subscribe<Element: Sendable>(
    _ outlet: SampleOutlet<Element>, _ add: (inout State, Int) -> Void,
    _ remove: @escaping @Sendable (inout State, Int) -> Void
  ) -> Subscription {
    let consumer: Int? = state.withLock { state in
      guard !state.isFinished else { return nil }
      state.nextConsumer += 1
      add(&state, state.nextConsumer)
      return state.nextConsumer
    }
    guard let consumer else {
      outlet.finish()
      return Subscription {}
    }
    needsChanged()
    return Subscription { [weak self] in
      self?.state.withLock { remove(&$0, consumer) }
      self?.needsChanged()
    }
  }
}
