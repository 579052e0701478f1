import Positioning
import Sensors
import Spatial

extension Drive {
  /// Creates a drive of a day at rest.
  init(name: String, parked: [Location]) {
    self.name = name
    fixes = parked.map {
      PositionFix(timestamp: $0.timestamp, mode: .threeDimensional, coordinate: $0.coordinate)
    }
  }

  /// The drive without a receiver for 40 s of every 300 s.
  var withTunnels: Drive {
    var copy = self
    copy.name += ", tunnels"
    copy.fixes = fixes.filter { Int($0.timestamp.nanoseconds / 1_000_000_000) % 300 < 260 }
    return copy
  }

  /// The drive without its longest step: the positions after it are moved back, so that the step and its speed match the speeds before and
  /// after it.
  var withoutJump: Drive {
    var copy = self
    let steps = zip(fixes, fixes.dropFirst()).map { a, b in
      a.coordinate.flatMap { first in b.coordinate.map { first.distance(to: $0) } } ?? 0
    }
    guard let index = steps.indices.max(by: { steps[$0] < steps[$1] }), index + 2 < fixes.count,
      let from = fixes[index].coordinate, let to = fixes[index + 1].coordinate
    else { return copy }
    let speed = ((fixes[index].speed ?? 0) + (fixes[index + 2].speed ?? 0)) / 2
    let jump = LocalFrame(origin: from).offset(of: to)
    let length = (jump * jump).sum().squareRoot()
    let back = jump * (1 - speed / length)
    for later in (index + 1)..<fixes.count {
      guard let place = fixes[later].coordinate else { continue }
      copy.fixes[later].coordinate = LocalFrame(origin: place).coordinate(at: -back)
    }
    copy.fixes[index + 1].speed = speed
    return copy
  }
}

extension Location {
  /// The location as of a receiver that reports positions only.
  var withoutSpeed: Location {
    var copy = self
    (copy.speed, copy.course) = (nil, nil)
    return copy
  }
}
