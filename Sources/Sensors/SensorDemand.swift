/// What the consumers of a sensor need of it at the least. It flows from the policies up to the source, which
/// turns it into hardware power.
public enum SensorDemand: Hashable, Sendable {
  /// Nothing: the hardware may sleep. A gpsd watch is left, an IIO buffer destroyed.
  case off
  /// On for a while in every period, off for the rest, samples at the source's natural rate while on.
  case dutyCycle(on: Duration, period: Duration)
  /// Samples at least this often, handed over at most `latency` after they were taken: the longer that may
  /// be, the deeper the hardware may buffer and the longer the processor sleeps.
  case rate(hertz: Double, latency: Duration)

  /// Whether anything is wanted at all.
  public var isOn: Bool { self != .off }
}
