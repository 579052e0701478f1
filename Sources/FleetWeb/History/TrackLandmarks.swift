internal import FleetStore

/// The significant positions of a track, which are retained even if they are near a straight line.
enum TrackLandmarks {
  /// Returns the indices of the first and last position, the ends of long gaps, the positions around changes
  /// between fixes and radio beacons, and the extremes of speed and altitude. An index can occur twice. At
  /// most half of `points`.
  static func indices(of samples: [TrackSample], atMost points: Int) -> [Int] {
    guard let last = samples.indices.last else { return [] }
    var indices = [0, last]
    indices += gaps(samples, atMost: points / 16)
    indices += changes(samples, atMost: points / 16)
    indices += extremes(samples, parts: points / 16)
    return indices
  }

  /// Returns both ends of the longest gaps.
  private static func gaps(_ samples: [TrackSample], atMost count: Int) -> [Int] {
    let limit = Int64(TrackThinner.gap * 1000)
    var gaps: [(length: Int64, index: Int)] = []
    for index in samples.indices.dropFirst() {
      let length = samples[index].time - samples[index - 1].time
      if length > limit { gaps.append((length, index)) }
    }
    if gaps.count > count { gaps.sort { $0.length > $1.length } }
    return gaps.prefix(count).flatMap { [$0.index - 1, $0.index] }
  }

  /// Returns the positions before and after each change between fixes and radio beacons; empty if there are
  /// too many.
  private static func changes(_ samples: [TrackSample], atMost count: Int) -> [Int] {
    var changes: [Int] = []
    for index in samples.indices.dropFirst()
    where (samples[index].source == .coarse) != (samples[index - 1].source == .coarse) {
      changes += [index - 1, index]
      if changes.count > 2 * count { return [] }
    }
    return changes
  }

  /// Divides the track into parts with equal numbers of positions. Returns the indices of the maximum speed,
  /// maximum altitude and minimum altitude of each part.
  private static func extremes(_ samples: [TrackSample], parts: Int) -> [Int] {
    guard parts > 0 else { return [] }
    var indices: [Int] = []
    for part in 0..<parts {
      let range = samples.count * part / parts..<samples.count * (part + 1) / parts
      var (fastest, highest, lowest): (Int?, Int?, Int?)
      for index in range {
        let sample = samples[index]
        // Comparisons with unknown values (NaN) are false.
        if sample.speed > (fastest.map { samples[$0].speed } ?? -1) { fastest = index }
        if sample.altitude > (highest.map { samples[$0].altitude } ?? -.infinity) { highest = index }
        if sample.altitude < (lowest.map { samples[$0].altitude } ?? .infinity) { lowest = index }
      }
      indices += [fastest, highest, lowest].compactMap(\.self)
    }
    return indices
  }
}
