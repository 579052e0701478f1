internal import Pipeline
internal import Positioning

extension PipelineConfiguration.Location {
  init(_ reader: ConfigurationReader) throws(ConfigurationError) {
    func positive(_ path: String) throws(ConfigurationError) -> Double? {
      let number = try reader.number(path)
      return number > 0 ? number : nil
    }
    let policy: Policy =
      switch try reader.text("location.reporting") {
      case "bounded":
        .bounded(
          error: try reader.number("location.error_bound"), delay: try reader.number("location.delay_bound"))
      case "significant": .significant
      default: .distance(try positive("location.distance_filter"))
      }
    self.init(
      isEnabled: try reader.flag("location.enabled"),
      desiredAccuracy: DesiredAccuracy(rawValue: try reader.text("location.desired_accuracy")) ?? .best,
      activity: ActivityType(rawValue: try reader.text("location.activity")) ?? .automotive,
      pausesAutomatically: try reader.flag("location.pauses_automatically"), policy: policy)
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
