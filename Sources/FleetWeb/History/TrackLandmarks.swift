internal import FleetStore

/// The significant positions of a track, which are retained even if they are near a straight line.
enum TrackLandmarks {
  /// Returns the indices of the first and last position, the ends of long gaps, the positions around changes
  /// between fixes, radio beacons and suspect positions, and the extremes of speed and altitude. An index can
  /// occur twice. At most half of `points`.
  /// - Parameter gapEnds: the times of the positions after long gaps, ascending.
  static func indices(of samples: [TrackSample], _ gapEnds: [Int64], atMost points: Int) -> [Int] {
    guard let last = samples.indices.last else { return [] }
    var indices = [0, last]
    indices += longest(gaps(in: samples, endingAt: gapEnds), samples, atMost: points / 16)
    indices += changes(samples, atMost: points / 16)
    indices += extremes(samples, parts: points / 16)
    return indices
  }

  /// Returns the indices of the samples with the end of a gap between the sample before and this one.
  static func gaps(in samples: [TrackSample], endingAt gapEnds: [Int64]) -> [Int] {
    var (gaps, next) = ([Int](), 0)
    for index in samples.indices {
      let first = next
      while next < gapEnds.count, gapEnds[next] <= samples[index].time { next += 1 }
      // An end at or before the first sample belongs to an earlier part of the track.
      if next > first, index > 0 { gaps.append(index) }
    }
    return gaps
  }

  /// Returns both ends of the longest gaps.
  /// - Parameter gaps: the indices of the samples after the gaps.
  private static func longest(_ gaps: [Int], _ samples: [TrackSample], atMost count: Int) -> [Int] {
    var gaps = gaps
    if gaps.count > count {
      gaps.sort { samples[$0].time - samples[$0 - 1].time > samples[$1].time - samples[$1 - 1].time }
    }
    return gaps.prefix(count).flatMap { [$0 - 1, $0] }
  }

  /// Returns the positions before and after each change between fixes, radio beacons and suspect positions;
  /// empty if there are too many.
  private static func changes(_ samples: [TrackSample], atMost count: Int) -> [Int] {
    var changes: [Int] = []
    for index in samples.indices.dropFirst()
    where lineKind(samples[index]) != lineKind(samples[index - 1]) {
      changes += [index - 1, index]
      if changes.count > 2 * count { return [] }
    }
    return changes
  }

  /// Returns the source of a position; nil for a position that lines include.
  private static func lineKind(_ sample: TrackSample) -> TrackSample.Source? {
    sample.source.isOnPath ? nil : sample.source
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
