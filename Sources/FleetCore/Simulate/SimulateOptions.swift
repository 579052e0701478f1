internal import Sensors

/// What `odograph simulate` is asked for. Every default is written here.
public struct SimulateOptions: Sendable {
  public var broker = BrokerOptions()
  public var root = FleetSelection().root
  public var fleet = "simulation"
  /// 1 ... 1,000,000.
  public var vehicles = 10
  /// What vehicles are called, with their number behind it.
  public var prefix = "sim-"
  /// The first vehicle's number: a second process goes on where the first one ends.
  public var first = 1
  /// Connections that the vehicles share, 1 ... 4096. As many as vehicles give each one a connection and a will.
  public var connections = 1
  /// Locations of each vehicle in a second, 0.001 ... 100.
  public var rate = 1.0
  /// Headings and attitudes of each vehicle in a second, 0 ... 100.
  public var liveRate = 0.0
  /// How much faster than life vehicles drive, 0.1 ... 100.
  public var speed = 1.0
  /// Events of each vehicle in an hour on average.
  public var eventsPerHour = 6.0
  /// How often each vehicle loses its link in an hour on average, and for how many seconds.
  public var outagesPerHour = 0.0
  public var outageSeconds = 60.0
  /// QoS of locations, 0 or 1. All else goes as the contract says.
  public var qos: UInt8 = 1
  /// From which routes, noise, events and outages are drawn.
  public var seed: UInt64 = 1
  /// Seconds after which it ends; nil goes on.
  public var seconds: Double?
  /// Whether to take back at the end what the broker keeps of the vehicles.
  public var clears = false
  public var json = false

  public init() {}

  /// - Throws: `FleetError` for a setting outside of its bounds, naming its option.
  func check() throws(FleetError) {
    try Self.check(vehicles, in: 1...1_000_000, "--vehicles")
    try Self.check(first, in: 0...1_000_000_000, "--first")
    try Self.check(connections, in: 1...min(4096, vehicles), "--connections")
    try Self.check(rate, in: 0.001...100, "--rate")
    try Self.check(liveRate, in: 0...100, "--live-rate")
    try Self.check(speed, in: 0.1...100, "--speed")
    try Self.check(eventsPerHour, in: 0...36_000, "--events")
    try Self.check(outagesPerHour, in: 0...3600, "--outages")
    try Self.check(outageSeconds, in: 1...86_400, "--outage-seconds")
    try Self.check(qos, in: 0...1, "--qos")
    if let seconds { try Self.check(seconds, in: 0.1...1e8, "--seconds") }
  }

  private static func check<Value: Comparable>(
    _ value: Value, in range: ClosedRange<Value>, _ option: String
  ) throws(FleetError) {
    guard range.contains(value) else {
      throw FleetError(
        operation: "use", object: "\(option) \(value)",
        cause: "it is \(range.lowerBound) to \(range.upperBound)", exit: .usage)
    }
  }
}
