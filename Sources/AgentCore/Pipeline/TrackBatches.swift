internal import Positioning
internal import Spatial
internal import Telemetry

/// Makes a `track` message of a batch of fixes, lossless or thinned.
struct TrackBatches: Sendable {
  let deferral: AgentConfiguration.LocationSettings.Deferral

  /// Decimals of a degree: a centimetre.
  private static let precision = 7

  /// - Parameter fixes: in order, each with its civil time.
  func message(_ fixes: [Location], time: (Location) -> UTCTime) -> TrackMessage {
    let kept = deferral.error.map { thinned(fixes, within: $0, time: time) } ?? fixes
    return TrackMessage(
      identity: nil,
      fixes: kept.map {
        TrackMessage.Fix(
          time: time($0), coordinate: $0.coordinate, horizontalAccuracy: $0.horizontalAccuracy)
      }, precision: Self.precision, bound: kept.count < fixes.count ? deferral.error : nil)
  }

  /// Readers interpolate by the times of the message, so those decide.
  private func thinned(
    _ fixes: [Location], within error: Double, time: (Location) -> UTCTime
  ) -> [Location] {
    let rounding = TrackMessage.roundingError(precision: Self.precision)
    var thinner = TrackThinner(epsilon: error - rounding)
    var kept: [Location] = []
    for fix in fixes {
      var sample = fix
      sample.timestamp = Timestamp(nanoseconds: time(fix).nanoseconds)
      sample.time = time(fix)
      kept += thinner.process(sample)
    }
    return kept + thinner.finish()
  }
}
