public import Positioning

extension AgentConfiguration {
  /// What is told of locations, and how exactly they are looked for.
  public struct LocationSettings: Sendable, Hashable {
    /// Which locations are told as they come.
    public enum Policy: Sendable, Hashable {
      /// Those that far from the last one told, in metres; nil tells every one.
      case distance(Double?)
      /// What subscribers show is never more than `error` metres wrong, for the moment `delay` seconds ago.
      case bounded(error: Double, delay: Double)
      /// Far and rarely: `SignificantChangeMonitor`.
      case significant
    }

    /// Fixes are collected and told as a `track`.
    public struct Deferral: Sendable, Hashable {
      /// Metres; nil for no limit.
      public var distance: Double?
      /// Seconds; nil for no limit.
      public var timeout: Double?
      /// Metres that the interpolation of a track may be wrong; nil keeps every fix.
      public var error: Double?
    }

    public var desiredAccuracy: DesiredAccuracy
    public var activity: ActivityType
    public var pausesAutomatically: Bool
    public var policy: Policy
    /// Nil tells every location by itself.
    public var deferral: Deferral?
  }
}

extension AgentConfiguration.LocationSettings {
  init(_ reader: ConfigurationReader) throws(ConfigurationError) {
    func positive(_ path: String) throws(ConfigurationError) -> Double? {
      let number = try reader.number(path)
      return number > 0 ? number : nil
    }
    desiredAccuracy = DesiredAccuracy(rawValue: try reader.text("location.desired_accuracy")) ?? .best
    activity = ActivityType(rawValue: try reader.text("location.activity")) ?? .automotive
    pausesAutomatically = try reader.flag("location.pauses_automatically")
    policy =
      switch try reader.text("location.reporting") {
      case "bounded":
        .bounded(
          error: try reader.number("location.error_bound"), delay: try reader.number("location.delay_bound"))
      case "significant": .significant
      default: .distance(try positive("location.distance_filter"))
      }
    let distance = try positive("location.deferral_distance")
    let timeout = try positive("location.deferral_timeout")
    guard distance != nil || timeout != nil else { return }
    deferral = Deferral(distance: distance, timeout: timeout, error: try positive("location.track_error"))
    guard let problem = deferralProblem else { return }
    let key = distance == nil ? "location.deferral_timeout" : "location.deferral_distance"
    throw reader.problem(key, problem, .conflict)
  }

  /// Why the settings leave nothing to defer.
  private var deferralProblem: String? {
    if policy == .significant {
      return "significant changes are not deferred; set location.reporting to \"distance\" or \"bounded\""
    }
    if case .distance(let filter?) = policy, filter > 0 {
      return "\(DeferralError.distanceFiltered); set location.distance_filter = 0"
    }
    guard desiredAccuracy == .best || desiredAccuracy == .bestForNavigation else {
      return "\(DeferralError.accuracyTooLow); set location.desired_accuracy = \"best\""
    }
    return nil
  }
}
