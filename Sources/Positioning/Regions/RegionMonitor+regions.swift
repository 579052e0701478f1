public import Spatial

extension RegionMonitor {
  /// Watches these regions and no others. Each that is faulty is refused with its reason; the others are watched. States of
  /// identifiers that stay are kept.
  @discardableResult
  public mutating func replaceAll(_ wanted: [Region]) -> RegionAcceptance {
    var acceptance = RegionAcceptance()
    var watched: [WatchedRegion] = []
    watched.reserveCapacity(wanted.count)
    var taken: Set<String> = []
    for (index, region) in wanted.enumerated() {
      do throws(RegionError) {
        let checked = try WatchedRegion(region)
        guard taken.insert(region.identifier).inserted else { throw .duplicateIdentifier }
        watched.append(checked)
        acceptance.accepted.append(region.identifier)
      } catch {
        acceptance.refused.append(
          RegionAcceptance.Refusal(index: index, identifier: region.identifier, reason: error))
      }
    }
    watch(watched)
    return acceptance
  }

  /// Watches one region more, in place of one with the same identifier. Builds the index anew: many regions are better
  /// given to `replaceAll`.
  /// - Throws: `RegionError`; the regions are then as they were.
  public mutating func add(_ region: Region) throws(RegionError) {
    let checked = try WatchedRegion(region)
    var all = regions
    if let place = places[region.identifier] { all[place] = checked } else { all.append(checked) }
    watch(all)
  }

  /// Watches a region no longer; nothing happens when it is not watched.
  public mutating func remove(_ identifier: String) {
    guard let place = places[identifier] else { return }
    var all = regions
    all.remove(at: place)
    watch(all)
  }

  private mutating func watch(_ wanted: [WatchedRegion]) {
    let (oldRegions, oldStates, oldTracks, oldPlaces) = (regions, states, tracks, places)
    let oldUnseen = Set(unseen)
    regions = wanted
    states = Array(repeating: .unknown, count: wanted.count)
    tracks = [:]
    places = [:]
    places.reserveCapacity(wanted.count)
    unseen = []
    for (place, region) in wanted.enumerated() {
      places[region.identifier] = place
      guard let old = oldPlaces[region.identifier] else {
        recall(place)
        unseen.append(place)
        continue
      }
      states[place] = oldStates[old]
      tracks[place] = oldTracks[old]
      if region.area != oldRegions[old].area {
        // What was seen of the old boundary says nothing of the new one.
        if states[place] == .outside { states[place] = .outsideUnseen }
        if var track = tracks[place] {
          track.isInside = nil
          track.crossing = nil
          track.clearance = nil
          track.evidence = RegionEvidence()
          tracks[place] = states[place] == .inside ? track : nil
        }
        unseen.append(place)
      } else if oldUnseen.contains(old) {
        unseen.append(place)
      }
    }
    tree = BoxTree(wanted.map(\.area.bounds))
    revision += 1
  }

  /// Calls with the identifier of each region that a place itself lies in, whatever was decided, in no particular order.
  public func forEachRegion(at coordinate: Coordinate, _ body: (String) -> Void) {
    let point = SurfacePoint(coordinate)
    tree.forEach(at: point.position) { place in
      if regions[place].area.contains(point) { body(regions[place].identifier) }
    }
  }

  /// Metres that the vehicle can surely move from a place before it meets the boundary of any region; nil without regions.
  /// - Parameter limit: metres; farther boundaries are not looked for, and the answer is at most this.
  public func distanceToNearestBoundary(from coordinate: Coordinate, limit: Double = 100_000) -> Double? {
    guard !regions.isEmpty, coordinate.isValid else { return nil }
    let point = SurfacePoint(coordinate)
    var radius = min(100, limit)
    while true {
      var box = SpaceBox(from: point, to: point)
      box.grow(by: radius)
      var nearest = radius
      tree.forEach(meeting: box) { place in
        nearest = min(nearest, abs(regions[place].area.signedDistance(from: point)))
      }
      // Every boundary within the radius was looked at, whatever lies beyond.
      if nearest < radius || radius >= limit { return nearest }
      radius = min(limit, radius * 4)
    }
  }
}
