internal import Glibc
package import JSON
internal import Pipeline
internal import Positioning
package import Sensors
internal import SensorsIIO

/// Estimate of a day under a configuration: energy by the `energy` keys, messages and bytes of a simulated day, and the error
/// bound of positions.
package struct DayEstimate {
  private let use: SimulatedDay.Use
  private let drivingHours: Double
  private let errorBound: String
  private let plainConsumers: [(format: String, bound: PlainConsumerBound)]
  /// Inertial sensors of the configuration that the vehicle does not have.
  private let missing: [SensorKind]
  private let hasRegions: Bool

  /// - Parameters:
  ///   - present: the discovered kinds of sensors; nil assumes all sensors of the configuration.
  ///   - drivingHours: hours of driving in a day, 0 ... 24.
  /// - Throws: `SimulationError`; `TopicError`.
  package init(_ configuration: AgentConfiguration, present: Set<SensorKind>? = nil, drivingHours: Double)
    throws
  {
    var configuration = configuration
    missing = Self.withdraw(from: &configuration, allBut: present)
    use = try SimulatedDay.use(configuration, drivingHours: drivingHours)
    self.drivingHours = min(max(drivingHours, 0), 24)
    errorBound = Self.errorBound(configuration.pipeline)
    hasRegions = configuration.regions.path != nil
    plainConsumers = PlainConsumerBound.bounds(of: configuration)
  }

  /// Removes the missing inertial sensors: without an accelerometer standstill is not detected, and a
  /// receiver that cannot sleep uses several times as much energy.
  private static func withdraw(
    from configuration: inout AgentConfiguration, allBut present: Set<SensorKind>?
  ) -> [SensorKind] {
    guard let present, configuration.input == .hardware else { return [] }
    let asked = configuration.iio.reduce(into: Set()) { $0.formUnion($1.kinds) }
    for index in configuration.iio.indices { configuration.iio[index].kinds.formIntersection(present) }
    return asked.intersection([.accelerometer, .gyroscope]).subtracting(present).sorted()
  }

  /// Lines printed by `odographd check`.
  package var lines: [String] {
    let joules = use.joules.values.reduce(0, +)
    // Charge in mAh: 3.7 V is the voltage of a lithium cell, and 3.6 C are 1 mAh.
    let charge = joules / 3.7 / 3.6
    let parts = use.joules.filter { $0.value >= joules * 0.005 }.sorted {
      ($1.value, $0.key) < ($0.value, $1.key)
    }
    let kinds = use.messages.merging(["connection": use.linkBytes]) { $1 }
      .filter { $0.value >= use.bytes * 0.005 }.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
    let without = missing.map(\.rawValue).joined(separator: " and ")
    return [
      "a day with \(Self.short(drivingHours)) h of driving, estimated"
        + (missing.isEmpty ? ":" : " without \(without), as none was found:"),
      "  energy  \(Self.short(joules)) J, \(Self.short(charge)) mAh at 3.7 V: "
        + parts.map { "\($0.key.rawValue) \(Self.short($0.value))" }.joined(separator: ", "),
      "  data    \(Self.short(use.bytes / 1000)) kB without TCP/IP: "
        + kinds.map { "\($0.key) \(Self.short($0.value / 1000))" }.joined(separator: ", "),
      "  error   " + errorBound,
    ] + plainConsumers.map { "  last position shown without prediction (\($0)): \($1.text)" }
      + (hasRegions
        ? ["  regions are not simulated: near their boundaries the receiver uses more energy"] : [])
  }

  /// Writes the estimate as JSON: joules, bytes and messages of a day, in total and by their parts, and the
  /// error bound as text.
  package func write(to json: inout JSONWriter) {
    json.field("drivingHours", drivingHours, decimals: 2)
    json.key("without")
    json.openArray()
    for kind in missing { json.value(kind.rawValue) }
    json.closeArray()
    json.field("joules", use.joules.values.reduce(0, +), decimals: 1)
    json.field("joulesByPart") { json in
      for (part, joules) in use.joules.sorted(by: { $0.key < $1.key }) {
        json.key(part.rawValue)
        json.value(joules, decimals: 1)
      }
    }
    json.field("bytes", use.bytes, decimals: 0)
    json.field("bytesByKind") { json in
      let kinds = use.messages.merging(["connection": use.linkBytes]) { $1 }
      for (kind, bytes) in kinds.sorted(by: { $0.key < $1.key }) {
        json.key(kind)
        json.value(bytes, decimals: 0)
      }
    }
    json.field("messages", use.counts.values.reduce(0, +), decimals: 0)
    json.field("messagesByKind") { json in
      for (kind, count) in use.counts.sorted(by: { $0.key < $1.key }) {
        json.key(kind)
        json.value(count, decimals: 0)
      }
    }
    json.field("error", errorBound)
    json.field("plainConsumers") { json in
      for (format, bound) in plainConsumers {
        json.key(format)
        json.openObject()
        json.field("metres", bound.metres, decimals: 1)
        json.field("seconds", bound.seconds, decimals: 1)
        json.closeObject()
      }
    }
  }

  /// Returns two significant digits, which is the precision of an estimate.
  private static func short(_ value: Double) -> String {
    guard value > 0, value.isFinite else { return "0" }
    let step = pow(10, (log10(value)).rounded(.down) - 1)
    let rounded = (value / step).rounded() * step
    return rounded >= 10 || rounded == rounded.rounded()
      ? String(Int(min(rounded.rounded(), 1e15))) : String((rounded * 100).rounded() / 100)
  }

  /// Returns the error bound of the displayed position, as text.
  private static func errorBound(_ pipeline: PipelineConfiguration) -> String {
    let settings = pipeline.location
    guard settings.isEnabled else { return "none: location.enabled is false" }
    let (cell, distance) = PlainConsumerBound.blur(pipeline)
    let blur = "\(short(distance)) m: positions are the centres of cells of \(short(cell)) m"
    let sleep = settings.desiredAccuracy.meters.map { "\(Int($0)) m" }
    let speed = settings.activity.typicalSpeed
    var live: String
    switch settings.policy {
    case .distance(let filter):
      let wait = filter.map { "\(Int($0)) m" } ?? "the distance driven in 1 s (\(Int(speed)) m)"
      live = sleep.map { "the larger of \(wait) and \($0)" } ?? wait
    case .bounded where distance > 0: live = blur + (sleep.map { "; plus \($0)" } ?? "")
    case .bounded(let error, let delay, _):
      live =
        "\(Self.short(error)) m from the position \(Self.short(delay)) s ago"
        + (sleep.map { ", or \($0)" } ?? "")
    case .significant: live = "500 m, or the distance driven in 5 min (\(Int(speed * 300)) m)"
    }
    let isBounded = if case .bounded = settings.policy { true } else { false }
    let addition = distance > 0 && !isBounded ? "; plus \(blur)" : ""
    live += addition
    guard let deferral = settings.deferral else { return live }
    let limits = [
      deferral.distance.map { "\(Int($0)) m" }, deferral.timeout.map { "\(Int($0)) s" },
    ].compactMap { $0 }.joined(separator: " or ")
    let history = deferral.error.map { "within \(Self.short($0)) m" } ?? "every fix"
    if isBounded { return "\(live); the track \(history), after \(limits)" }
    return "up to \(limits) of driving live; the track \(history)\(addition)"
  }
}

extension ActivityType {
  /// Speed while driving, m/s: for vehicles the mean of nine recorded drives, for others an assumption.
  var typicalSpeed: Double {
    switch self {
    case .automotive: 13.5
    case .pedestrian: 1.3
    case .other: 5
    }
  }
}
