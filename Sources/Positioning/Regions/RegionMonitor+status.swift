public import Spatial
public import VehicleData

extension RegionMonitor {
  /// Returns the status of a region; nil if it is not monitored. The corresponding call of Core Location is
  /// `requestState(for:)`.
  public func status(of identifier: String) -> RegionStatus? { places[identifier].map(status) }

  /// Returns the status of at most `limit` regions. If no more are monitored, all are returned in their
  /// order. Otherwise the regions that contain the vehicle come first, by descending time of entry. The
  /// regions nearest to the newest location follow.
  public func statuses(limit: Int) -> [RegionStatus] {
    guard count > limit else { return regions.indices.map(status) }
    let inside = states.indices.filter { states[$0] == .inside }
      .sorted { (since[$0]?.nanoseconds ?? .min, $1) > (since[$1]?.nanoseconds ?? .min, $0) }
      .prefix(limit)
    return (inside + nearest(limit - inside.count)).map(status)
  }

  /// The regions with a speed limit that contain the vehicle, with their limits in m/s, sorted by identifier.
  /// They change with `revision` only.
  public var speedLimits: [(region: String, speed: Double)] {
    guard hasSpeedLimits else { return [] }
    return placesInside.compactMap { place in
      regions[place].speedLimit.map { (regions[place].identifier, $0) }
    }.sorted { $0.region < $1.region }
  }

  private func status(_ place: Int) -> RegionStatus {
    RegionStatus(
      identifier: regions[place].identifier, state: states[place].told,
      since: states[place] == .unknown ? nil : since[place], desiredAccuracy: regions[place].desiredAccuracy)
  }

  /// Returns the indices of the regions nearest to the newest location that do not contain the vehicle.
  private func nearest(_ wanted: Int) -> [Int] {
    guard let newest else { return Array(states.indices.filter { states[$0] != .inside }.prefix(wanted)) }
    var radius = 1000.0
    while true {
      var box = SpaceBox(from: newest.point, to: newest.point)
      box.grow(by: radius)
      var found: [(place: Int, distance: Double)] = []
      tree.forEach(meeting: box) { place in
        guard states[place] != .inside else { return }
        let distance = abs(regions[place].area.signedDistance(from: newest.point))
        if distance <= radius { found.append((place, distance)) }
      }
      if found.count >= wanted || radius > Self.wholeEarth {
        return found.sorted { ($0.distance, $0.place) < ($1.distance, $1.place) }.prefix(wanted).map(\.place)
      }
      radius *= 4
    }
  }

  /// A distance in m that is larger than that between any two positions on earth.
  private static let wholeEarth = 2.1e7

  /// Returns the finest accuracy in m (68 %) of the regions with a boundary within `metres` of a position;
  /// nil if no such region requires an accuracy.
  public func desiredAccuracy(near coordinate: Coordinate, within metres: Double) -> Double? {
    guard hasOwnAccuracies, coordinate.isValid else { return nil }
    let point = SurfacePoint(coordinate)
    var box = SpaceBox(from: point, to: point)
    box.grow(by: metres)
    var finest: Double?
    tree.forEach(meeting: box) { place in
      guard let accuracy = regions[place].desiredAccuracy, accuracy < finest ?? .infinity,
        abs(regions[place].area.signedDistance(from: point)) <= metres
      else { return }
      finest = accuracy
    }
    return finest
  }
}

extension WatchState {
  /// The state in the form in which it is published.
  var told: RegionState {
    switch self {
    case .unknown: .unknown
    case .inside: .inside
    case .outside, .outsideUnseen, .outsideRestored: .outside
    }
  }
}
