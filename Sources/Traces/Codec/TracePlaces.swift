package import Sensors
package import Spatial

// Finds positions in a trace and removes hidden ones, because the privacy zones may have changed between
// recording and publication.

extension TraceBlock {
  /// The positions of all fixes, in the order of streams.
  package var places: [Coordinate] {
    fixes.compactMap(\.coordinate)
  }

  /// Returns the block without the position, altitude, speed and course of hidden fixes, and without
  /// velocities if `hidesMotion` is true.
  func withoutPlaces(_ isHidden: (Coordinate) -> Bool, hidesMotion: Bool) -> TraceBlock {
    var block = TraceBlock(resolution: resolution)
    for sample in samples {
      switch sample {
      case .fix(var fix):
        // A fix without a position between hidden fixes can reveal speed and course inside the zone.
        if fix.coordinate.map(isHidden) ?? hidesMotion { fix.withholdPlace() }
        block.append(.fix(fix))
      case .motion(var motion):
        if hidesMotion { motion.velocity = nil }
        block.append(.motion(motion))
      case .inertial, .pressure, .vehicle: block.append(sample)
      }
    }
    return block
  }
}

extension TraceFile {
  /// Returns whether the trace contains a hidden position.
  package func holds(_ isHidden: (Coordinate) -> Bool) -> Bool {
    blocks.contains { TraceBlock(bytes: $0)?.places.contains(where: isHidden) ?? false }
  }

  /// Returns the file's bytes without receiver data at hidden positions, and without the velocities of that
  /// time. Velocities are removed from the first block with a hidden position up to the next block with a
  /// visible one. Returns the same bytes if no position is hidden.
  package func withoutPlaces(_ isHidden: (Coordinate) -> Bool) -> [UInt8] {
    var bytes = TraceFile.bytes(head)
    var isInside = false
    for packed in blocks {
      guard let block = TraceBlock(bytes: packed) else { continue }
      let places = block.places
      let hasHidden = places.contains(where: isHidden)
      // A block can be shorter than the interval between positions. A block without positions is treated like
      // the previous block.
      isInside = hasHidden || (places.isEmpty && isInside)
      let kept = isInside ? block.withoutPlaces(isHidden, hidesMotion: true).bytes : packed
      bytes += TraceFile.bytes(block: kept)
    }
    return bytes
  }
}

extension PositionFix {
  /// Removes position and motion from a fix. The time of the fix and its reception quality are retained.
  package mutating func withholdPlace() {
    (coordinate, altitudeEllipsoidal, altitudeMeanSeaLevel) = (nil, nil, nil)
    (speed, course, climb) = (nil, nil, nil)
  }
}
