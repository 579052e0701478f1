internal import Glibc
internal import Sensors
public import Spatial

extension NavigationFilter {
  /// Where the vehicle is; nil unless aligned. Before that the receiver's own fixes are all there is.
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

  /// Whether nothing that the receiver has said of late contradicts the position, and whether it has confirmed one that was kept.
  public var isConfirmed: Bool { receiver.refusedInARow == 0 && !resumption.isUnconfirmed }

  /// The position `seconds` before or after the newest sample, by the velocity.
  public func coordinate(after seconds: Double) -> Coordinate? {
    guard state == .aligned, let frame else { return nil }
    let position = filter.state.position + filter.state.velocity * seconds
    return frame.coordinate(at: SIMD2(position.x, position.y))
  }

  /// Metres that hold 68 and 95 %.
  func radii() -> (share68: Double, share95: Double) {
    // The filter averages the receiver's errors as if they were independent in the end; half of their variance is
    // what neighbouring fixes have in common.
    let common = 0.5 * receiver.deviation * receiver.deviation
    let scale = parameters.radiusFactor * parameters.radiusFactor
    return ErrorRadius.radii(
      east: scale * filter.covariance[0, 0] + common, north: scale * filter.covariance[1, 1] + common,
      covariance: scale * filter.covariance[0, 1])
  }

  /// Whether the way through the last outage is as good as it will be: ten seconds after the receiver came back.
  public var isTrackFinished: Bool { outage == .finished && filter.track.count > 0 }

  /// The way through the last outage as it is known now, one position a second, two or more where it was long; empty
  /// where there is none.
  public var correctedTrack: [CorrectedPosition] {
    guard let frame, let origin else { return [] }
    let track = filter.track
    let common = 0.5 * receiver.deviation * receiver.deviation
    return (0..<track.count).map { index in
      let point = track[index]
      // The smoother's own variance is too small by 1.4² (fitted): what it does not model is the same before and after.
      let scale = 1.4 * 1.4
      let radii = ErrorRadius.radii(
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

  /// Takes the finished way through the last outage; nil when there is none, or it was taken.
  public mutating func drainCorrectedTrack() -> [CorrectedPosition]? {
    guard isTrackFinished else { return nil }
    defer {
      filter.track.reset()
      outage = .none
    }
    return correctedTrack
  }
}
