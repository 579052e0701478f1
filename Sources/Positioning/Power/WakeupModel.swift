internal import Sensors
internal import Spatial
internal import VehicleData

/// Expected use of the processor, for recordings, simulations and estimates, where the use is not measured. A
/// block of samples wakes two threads: one reads the block, the other processes it. The reports of a fix by
/// gpsd and the sending of a message wake several threads, one after the other.
struct WakeupModel: Hashable, Sendable {
  /// Number of wakeups for each block of samples, for each fix, and for each sent message.
  private static let (perBlock, perFix, perMessage) = (2.0, 4.0, 4.0)
  /// Processor time in s of one wakeup and its work.
  private static let work = 80e-6

  private var count = 0.0
  /// Wakeups per second with the current demands.
  private var rate = 0.0
  private var since = Timestamp(nanoseconds: 0)

  /// Records the demands from `time` on.
  /// - Parameter demands: demands on the sensors that are present.
  mutating func record(_ demands: some Sequence<SensorDemand>, at time: Timestamp) {
    count = total(at: time)
    since = max(since, time)
    rate = demands.reduce(0) { sum, demand in
      guard case .rate(let hertz, let latency) = demand, hertz > 0 else { return sum }
      return sum + Self.perBlock / max(latency / .seconds(1), 1 / hertz)
    }
  }

  mutating func observe(fixes: Int) { count += Self.perFix * Double(fixes) }

  mutating func observe(messages: Int) { count += Self.perMessage * Double(messages) }

  /// Returns the expected use until `time`, without joules.
  func account(at time: Timestamp) -> EnergyAccount {
    let wakeups = total(at: time)
    return EnergyAccount(seconds: wakeups * Self.work, starts: Int(wakeups))
  }

  private func total(at time: Timestamp) -> Double { count + rate * max(0, time.seconds(since: since)) }
}
