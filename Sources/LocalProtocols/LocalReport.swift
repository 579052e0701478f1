package import Sensors
package import Spatial
package import VehicleData

/// The fused state of one epoch, for programs on the same machine.
package struct LocalReport: Hashable, Sendable {
  /// UTC time of the epoch; nil if unknown.
  package var time: UTCTime?
  /// The location with privacy applied; nil if there is no fix or the location is withheld.
  package var location: ShownLocation?
  /// True if the location is dead reckoning without satellites, or from radio beacons.
  package var isEstimated: Bool
  /// The orientation; nil if unknown or withheld.
  package var attitude: LocalAttitude?
  /// The receiver's data of the epoch; nil if the receiver has reported nothing.
  package var receiver: LocalReceiver?

  package init(
    time: UTCTime?, location: ShownLocation? = nil, isEstimated: Bool = false, attitude: LocalAttitude? = nil,
    receiver: LocalReceiver? = nil
  ) {
    self.time = time
    self.location = location
    self.isEstimated = isEstimated
    self.attitude = attitude
    self.receiver = receiver
  }
}

/// The orientation of a vehicle in degrees. Unknown values are nil.
package struct LocalAttitude: Hashable, Sendable {
  /// Heading clockwise from true north, 0 ..< 360.
  package var trueHeading: Double?
  /// Heading clockwise from magnetic north, 0 ..< 360.
  package var magneticHeading: Double?
  /// Standard deviation of both headings.
  package var headingAccuracy: Double?
  /// Roll, positive if the right side is lower.
  package var roll: Double?
  /// Standard deviation of the roll.
  package var rollAccuracy: Double?
  /// Pitch, positive if the front is higher.
  package var pitch: Double?
  /// Standard deviation of the pitch.
  package var pitchAccuracy: Double?
  /// Turn rate about the vertical in degrees per second, positive clockwise.
  package var yawRate: Double?

  package init(
    trueHeading: Double? = nil, magneticHeading: Double? = nil, headingAccuracy: Double? = nil,
    roll: Double? = nil, rollAccuracy: Double? = nil, pitch: Double? = nil, pitchAccuracy: Double? = nil,
    yawRate: Double? = nil
  ) {
    self.trueHeading = trueHeading
    self.magneticHeading = magneticHeading
    self.headingAccuracy = headingAccuracy
    self.roll = roll
    self.rollAccuracy = rollAccuracy
    self.pitch = pitch
    self.pitchAccuracy = pitchAccuracy
    self.yawRate = yawRate
  }

  /// Magnetic declination in degrees, positive eastward; nil unless both headings are known.
  var declination: Double? {
    guard let trueHeading, let magneticHeading, trueHeading.isFinite, magneticHeading.isFinite else {
      return nil
    }
    return signedDegrees(from: magneticHeading, to: trueHeading)
  }
}

/// The receiver's data of an epoch that the location does not contain.
package struct LocalReceiver: Hashable, Sendable {
  /// The method of the receiver's fix; nil if not reported.
  package var quality: FixQuality?
  /// The number of satellites used for the fix; nil if not reported.
  package var satellitesUsed: Int?
  /// The number of satellites in view; nil if not reported.
  package var satellitesVisible: Int?
  /// Horizontal dilution of precision; nil if not reported.
  package var horizontalDilution: Double?
  /// The satellites in view, and all dilutions of precision; nil if not reported.
  package var sky: SatelliteSky?

  package init(
    quality: FixQuality? = nil, satellitesUsed: Int? = nil, satellitesVisible: Int? = nil,
    horizontalDilution: Double? = nil, sky: SatelliteSky? = nil
  ) {
    self.quality = quality
    self.satellitesUsed = satellitesUsed
    self.satellitesVisible = satellitesVisible
    self.horizontalDilution = horizontalDilution
    self.sky = sky
  }

  /// Creates the data from a fix.
  package init(_ fix: PositionFix) {
    self.init(
      quality: fix.quality, satellitesUsed: fix.satellitesUsed, satellitesVisible: fix.satellitesVisible,
      horizontalDilution: fix.horizontalDilution, sky: fix.sky)
  }
}

/// The requirements of one client.
package struct LocalNeeds: Hashable, Sendable {
  /// Interval between reports in s.
  package var interval: Double
  /// True if the client uses the attitude.
  package var attitude: Bool

  package init(interval: Double, attitude: Bool) {
    self.interval = interval
    self.attitude = attitude
  }
}
