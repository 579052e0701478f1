public import Sensors
internal import Spatial

/// Decides which of a receiver's reports are worth telling.
///
/// A value type without I/O: reports go in with their time, locations come out.
public struct LocationManager: Sendable {
  /// Metres that the device must move from the last location told before another is told; nil tells every one.
  public var distanceFilter: Double?

  /// The newest location told; nil before the first.
  public private(set) var location: Location?

  /// Reports that held no position, since the start.
  public private(set) var reportsWithoutPosition = 0

  /// Locations held back by the distance filter, since the start.
  public private(set) var filteredCount = 0

  /// Reports that repeated the one before, since the start.
  public private(set) var duplicateCount = 0

  private var lastFix: PositionFix?

  public init(distanceFilter: Double? = nil) {
    self.distanceFilter = distanceFilter
  }

  /// What the receiver must deliver for these settings.
  public var demand: SensorDemand { .rate(hertz: 1, latency: .seconds(1)) }

  /// What must be seen next, and until when nothing can be due.
  public var needs: LocationNeeds {
    var needs = LocationNeeds(isWanted: true)
    needs.distance = distanceFilter
    needs.timestamp = location?.timestamp
    needs.speed = location?.speed
    needs.speedAccuracy = location?.speedAccuracy
    needs.horizontalAccuracy = location?.horizontalAccuracy
    return needs
  }

  /// Takes one report; returns the location when it is to be told.
  public mutating func process(_ fix: PositionFix) -> Location? {
    guard let candidate = Location(fix: fix) else {
      reportsWithoutPosition += 1
      return nil
    }
    defer { lastFix = fix }
    if let lastFix, Self.isRepetition(fix, of: lastFix) {
      duplicateCount += 1
      return nil
    }
    if let distanceFilter, let location,
      location.coordinate.distance(to: candidate.coordinate) < distanceFilter
    {
      filteredCount += 1
      return nil
    }
    location = candidate
    return candidate
  }

  /// gpsd tells a receiver's first epoch in parts until it has learnt which sentence ends one: the same position again
  /// with the same time, or with a time where there was none.
  private static func isRepetition(_ fix: PositionFix, of last: PositionFix) -> Bool {
    guard fix.coordinate == last.coordinate, fix.receiver == last.receiver else { return false }
    guard let time = last.time else { return fix.timestamp.seconds(since: last.timestamp) < 0.5 }
    return fix.time == time
  }
}
