internal import Glibc
internal import Positioning
internal import Sensors

/// Which share of the time each sensor is on, moving and at rest, as the power planner would have it.
struct SensorShares {
  /// 0 ... 1, by component.
  var moving: [EnergyComponent: Double] = [:]
  var resting: [EnergyComponent: Double] = [:]
  /// Fixes a second while moving.
  private(set) var fixRate = 0.0

  /// Seconds that a receiver is on for a fix after a short sleep: between the simulated receiver's and those of
  /// `RESULTS.md`, Power.
  private static let timeToFix = 1.5
  /// m/s² by which a vehicle strays from its course at most.
  private static let manoeuvre = 3.5
  /// Of the time between setting off and parking, what is spent in motion: the rest are traffic lights.
  private static let shareInMotion = 0.8

  init(_ configuration: AgentConfiguration) {
    let isHardware = configuration.input == .hardware
    let hasReceiver = configuration.isLocationEnabled && (!isHardware || configuration.gpsd.isEnabled)
    let settings = configuration.location
    let isCoarse = settings.desiredAccuracy.meters.map { $0 >= PowerPlanner.restfulAccuracy } ?? false
    func isThere(_ choice: String) -> Bool {
      !isHardware || configuration.iio.isEnabled && choice != "off"
    }
    let iio = configuration.iio
    let hasAccelerometer = isThere(iio.accelerometer)

    let isFused = configuration.isAttitudeEnabled || configuration.isHeadingEnabled
    if isFused || !configuration.motionEvents.isEmpty {
      let parts: [(EnergyComponent, String)] = [
        (.accelerometer, iio.accelerometer), (.gyroscope, iio.gyroscope), (.magnetometer, iio.magnetometer),
      ]
      for (component, choice) in parts where isThere(choice) {
        moving[component] = isCoarse ? Self.shareInMotion : 1
        resting[component] = isCoarse ? 0 : 1
      }
    }
    let isWatching = isCoarse || hasReceiver && settings.pausesAutomatically
    if hasAccelerometer, isWatching || configuration.recorder != nil {
      (moving[.accelerometer], resting[.accelerometer]) = (1, 1)
    }
    guard hasReceiver else { return }
    let knowsRest = hasAccelerometer && isWatching
    // Paused without an accelerometer, it looks once in a while.
    let blind = settings.pausesAutomatically ? Self.timeToFix / PowerPlanner.blindSleep : 1
    resting[.receiver] = knowsRest ? Self.timeToFix / PowerPlanner.longestSleep : blind
    moving[.receiver] = 1
    fixRate = 1
    if let accuracy = sleepAccuracy(configuration) {
      let sleep = max(PowerPlanner.shortestSleep, sqrt(2 * accuracy / Self.manoeuvre))
      let share = knowsRest ? Self.shareInMotion : 1
      moving[.receiver] = share * Self.timeToFix / (Self.timeToFix + sleep)
      fixRate = share / (Self.timeToFix + sleep)
    }
  }

  /// Metres within which the receiver may sleep between fixes while moving; nil for never.
  private func sleepAccuracy(_ configuration: AgentConfiguration) -> Double? {
    configuration.location.desiredAccuracy.meters
  }
}
