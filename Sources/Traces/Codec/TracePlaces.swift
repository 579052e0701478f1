package import Sensors
public import Spatial

// What a trace tells of where the vehicle was, and how that is taken out of it: a place that was anybody's business when it was recorded
// need not be when it is told.

extension TraceBlock {
  /// Where receivers saw the vehicle, in the order of streams.
  public var places: [Coordinate] {
    fixes.compactMap(\.coordinate)
  }

  /// The block without positions, altitudes, speeds and courses of receivers that are hidden, and with `hidesMotion` without velocities.
  func withoutPlaces(_ isHidden: (Coordinate) -> Bool, hidesMotion: Bool) -> TraceBlock {
    var block = TraceBlock(resolution: resolution)
    for sample in samples {
      switch sample {
      case .fix(var fix):
        // A report without a place, among others that are hidden, may tell speed and course of there.
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
  /// Whether it has a place that is hidden.
  public func holds(_ isHidden: (Coordinate) -> Bool) -> Bool {
    blocks.contains { TraceBlock(bytes: $0)?.places.contains(where: isHidden) ?? false }
  }

  /// The file's bytes without what receivers said of hidden places, and without velocities there: from the block with the first hidden place
  /// to the one with the next that is not. The same bytes where nothing is hidden.
  public func withoutPlaces(_ isHidden: (Coordinate) -> Bool) -> [UInt8] {
    var bytes = TraceFile.bytes(head)
    var isInside = false
    for packed in blocks {
      guard let block = TraceBlock(bytes: packed) else { continue }
      let places = block.places
      let hasHidden = places.contains(where: isHidden)
      // Places are told more rarely than blocks begin.
      isInside = hasHidden || (places.isEmpty && isInside)
      let kept = isInside ? block.withoutPlaces(isHidden, hidesMotion: true).bytes : packed
      bytes += TraceFile.bytes(block: kept)
    }
    return bytes
  }
}

extension PositionFix {
  /// Leaves out where the receiver was and how it moved there; that it reported, and how well it saw the sky, stays.
  package mutating func withholdPlace() {
    (coordinate, altitudeEllipsoidal, altitudeMeanSeaLevel) = (nil, nil, nil)
    (speed, course, climb) = (nil, nil, nil)
  }
}
