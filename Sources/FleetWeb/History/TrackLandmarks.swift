internal import FleetStore

/// Positions of a track that stay whatever lies near a straight line: people look for them.
enum TrackLandmarks {
  /// The indices of both ends, of long gaps, of changes between fixes and radios, and of extremes of speed and altitude; some
  /// of them twice. Half of the points at most are theirs.
  static func indices(of samples: [TrackSample], atMost points: Int) -> [Int] {
    guard let last = samples.indices.last else { return [] }
    var indices = [0, last]
    indices += gaps(samples, atMost: points / 16)
    indices += changes(samples, atMost: points / 16)
    indices += extremes(samples, parts: points / 16)
    return indices
  }

  /// Both ends of the longest gaps.
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

  /// The position before, and that after, each change between a fix and what radios say; none where there are so many that they
  /// are not landmarks.
  private static func changes(_ samples: [TrackSample], atMost count: Int) -> [Int] {
    var changes: [Int] = []
    for index in samples.indices.dropFirst()
    where (samples[index].source == .coarse) != (samples[index - 1].source == .coarse) {
      changes += [index - 1, index]
      if changes.count > 2 * count { return [] }
    }
    return changes
  }

  /// Where speed is greatest, and altitude greatest and least, in so many parts of equal counts.
  private static func extremes(_ samples: [TrackSample], parts: Int) -> [Int] {
    guard parts > 0 else { return [] }
    var indices: [Int] = []
    for part in 0..<parts {
      let range = samples.count * part / parts..<samples.count * (part + 1) / parts
      var (fastest, highest, lowest): (Int?, Int?, Int?)
      for index in range {
        let sample = samples[index]
        // Comparisons with what is not known are false.
        if sample.speed > (fastest.map { samples[$0].speed } ?? -1) { fastest = index }
        if sample.altitude > (highest.map { samples[$0].altitude } ?? -.infinity) { highest = index }
        if sample.altitude < (lowest.map { samples[$0].altitude } ?? .infinity) { lowest = index }
      }
      indices += [fastest, highest, lowest].compactMap(\.self)
    }
    return indices
  }
}
