internal import Glibc
internal import Sensors
public import Spatial

extension NavigationFilter {
  /// The estimate of position, motion and attitude; nil unless aligned. Before the alignment only the
  /// receiver's own fixes are available.
  public var estimate: NavigationEstimate? {
    guard state == .aligned, let frame, let origin else { return nil }
    let filterState = filter.state
    let position = filterState.position
    let vehicle = filterState.vehicleAttitude
    let forward = vehicle.rotate(Vector3(0, 1, 0))
    let antenna = position + vehicle.rotate(filterState.antennaLever)
    let (radius68, radius95) = radii()
    let covariance = filter.covariance
    func deviation(_ index: Int) -> Double { covariance.variance(index).squareRoot().degrees }
    return NavigationEstimate(
      timestamp: origin.advanced(bySeconds: now),
      coordinate: frame.coordinate(at: SIMD2(position.x, position.y)),
      antennaCoordinate: frame.coordinate(at: SIMD2(antenna.x, antenna.y)),
      altitude: receiver.isEllipsoidal == nil ? nil : frameAltitude + position.z,
      isAltitudeEllipsoidal: receiver.isEllipsoidal == true, velocity: filterState.velocity,
      velocityDeviation: max(
        covariance.variance(ErrorState.velocity), covariance.variance(ErrorState.velocity + 1)
      ).squareRoot(),
      attitude: filterState.attitude, vehicleAttitude: vehicle, mounting: filterState.mounting,
      heading: normalizedDegrees(atan2(forward.x, forward.y).degrees),
      tiltDeviation: max(deviation(ErrorState.attitude), deviation(ErrorState.attitude + 1)),
      headingDeviation: deviation(ErrorState.attitude + 2),
      mountingDeviation: SIMD2(deviation(ErrorState.mounting), deviation(ErrorState.mounting + 2)),
      radius68: radius68, radius95: radius95, verticalDeviation: covariance.variance(2).squareRoot(),
      source: isOutage ? .inertial : .fused, sinceFix: sinceAccepted, isStopped: stops.isStopped(parameters),
      gyroscopeBias: filterState.gyroscopeBias, accelerometerBias: filterState.accelerometerBias,
      acceleration: filter.acceleration, positionLatency: filterState.positionLatency)
  }

  /// True if no recent fix was rejected, and a position resumed from storage has been confirmed.
  public var isConfirmed: Bool { receiver.refusals.isConfirmed && !resumption.isUnconfirmed }

  /// Returns the position `seconds` after (before, if negative) the last sample, extrapolated with the
  /// velocity.
  public func coordinate(after seconds: Double) -> Coordinate? {
    guard state == .aligned, let frame else { return nil }
    let position = filter.state.position + filter.state.velocity * seconds
    return frame.coordinate(at: SIMD2(position.x, position.y))
  }

  /// Returns the 68 and 95 % radii in m.
  func radii() -> (share68: Double, share95: Double) {
    // The covariance assumes that errors of consecutive fixes become independent. Half of their variance is
    // common to consecutive fixes, so it is added.
    let common = 0.5 * receiver.deviation * receiver.deviation + lateDistance * lateDistance
    let scale = parameters.radiusFactor * parameters.radiusFactor
    return ConfidenceRadius.radii(
      east: scale * filter.covariance[0, 0] + common, north: scale * filter.covariance[1, 1] + common,
      covariance: scale * filter.covariance[0, 1])
  }

  /// True if the track through the last outage is final, ten seconds after the receiver returned.
  public var isTrackFinished: Bool { outage == .finished && filter.track.count > 0 }

  /// The current track through the last outage, with a position every second, or less frequently for a long
  /// outage; empty if there was no outage.
  public var correctedTrack: [CorrectedPosition] {
    guard let frame, let origin else { return [] }
    let track = filter.track
    let common = 0.5 * receiver.deviation * receiver.deviation
    return (0..<track.count).map { index in
      let point = track[index]
      // The variance of the smoother is too small by a factor of 1.4² (fitted), because unmodelled errors
      // before and after a position are the same.
      let scale = 1.4 * 1.4
      let radii = ConfidenceRadius.radii(
        east: scale * point.eastVariance + common, north: scale * point.northVariance + common,
        covariance: scale * point.covariance)
      return CorrectedPosition(
        timestamp: origin.advanced(bySeconds: point.time),
        coordinate: frame.coordinate(at: SIMD2(point.position.x, point.position.y)),
        antennaCoordinate: frame.coordinate(
          at: SIMD2(point.position.x + point.antenna.x, point.position.y + point.antenna.y)),
        live: frame.coordinate(at: SIMD2(point.live.x, point.live.y)), radius68: radii.share68,
        radius95: radii.share95)
    }
  }

  /// Removes and returns the final track through the last outage; nil if there is no final track.
  public mutating func drainCorrectedTrack() -> [CorrectedPosition]? {
    guard isTrackFinished else { return nil }
    defer {
      filter.track.reset()
      outage = .none
    }
    return correctedTrack
  }
}
