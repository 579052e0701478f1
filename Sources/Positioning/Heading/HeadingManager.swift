public import Spatial
public import VehicleData

/// Decides which headings are published, and with which accuracy.
public struct HeadingManager: Sendable {
  /// Minimum change in degrees from the last published heading; nil publishes every heading.
  public var headingFilter: Double?
  /// Orientation of the device, which selects the side whose heading is published: the upper side.
  public var headingOrientation: DeviceOrientation
  /// Declination in degrees, positive if magnetic north is east of true north; nil if unknown.
  public var declination: Double?
  /// True if the device is fixed in a vehicle that moves in the device's forward direction. A constant
  /// difference between heading and course is then corrected, and a large one is reported as a contradiction.
  /// False for a device that can be turned in the vehicle: its heading is independent of the course.
  public var followsCourse: Bool

  /// The last published heading; nil before the first.
  public private(set) var heading: Heading?
  /// Number of contradictions between course and heading since the start.
  public private(set) var contradictionCount = 0

  private var course = CourseCheck()

  /// Accuracy in degrees above which a calibration is requested.
  private static let worstAccuracy = 25.0

  public init(
    headingFilter: Double? = nil, headingOrientation: DeviceOrientation = .portrait,
    followsCourse: Bool = false
  ) {
    self.headingFilter = headingFilter
    self.headingOrientation = headingOrientation
    self.followsCourse = followsCourse
  }

  /// Learned difference in degrees by which the uncorrected heading is clockwise of the course. Published
  /// headings are corrected by it. Zero before it is learned.
  public var courseBias: Double { followsCourse ? course.bias : 0 }

  /// Processes a location, whose course is compared with the heading.
  public mutating func process(_ location: Location) {
    if followsCourse { course.observe(location) }
  }

  /// Processes an attitude relative to magnetic north. Returns the heading of the selected side if it must be
  /// published.
  /// - Parameters:
  ///   - accuracy: standard deviation in degrees; nil if unknown.
  ///   - calibration: accuracy of the magnetometer's calibration; nil if unknown.
  public mutating func process(
    attitude: Attitude, accuracy: Double?, calibration: MagneticFieldCalibrationAccuracy? = nil,
    at timestamp: Timestamp
  ) -> Heading? {
    attitude.heading(for: headingOrientation).flatMap {
      process(magneticHeading: $0, accuracy: accuracy, calibration: calibration, at: timestamp)
    }
  }

  /// Processes a vehicle heading from a better source than a magnetometer. Returns the heading if it must be
  /// published. Nil without `declination`, because the magnetic heading would be missing.
  /// - Parameters:
  ///   - trueHeading: degrees clockwise from true north.
  ///   - accuracy: standard deviation in degrees.
  public mutating func process(
    trueHeading: Double, accuracy: Double, at timestamp: Timestamp
  ) -> Heading? {
    guard let declination else { return nil }
    let candidate = Heading(
      timestamp: timestamp, magneticHeading: normalizedDegrees(trueHeading - declination),
      trueHeading: normalizedDegrees(trueHeading), headingAccuracy: accuracy)
    guard isReportable(candidate) else { return nil }
    heading = candidate
    return candidate
  }

  /// Processes a heading of the selected side. Returns the heading if it must be published.
  /// - Parameters:
  ///   - magnetic: degrees clockwise from magnetic north.
  ///   - accuracy: standard deviation in degrees; nil if unknown.
  ///   - calibration: accuracy of the magnetometer's calibration; nil if unknown.
  public mutating func process(
    magneticHeading magnetic: Double, accuracy: Double?, calibration: MagneticFieldCalibrationAccuracy? = nil,
    at timestamp: Timestamp
  ) -> Heading? {
    if let declination {
      let wasContradicted = course.isContradicted
      course.compare(normalizedDegrees(magnetic + declination), accuracy: accuracy, at: timestamp)
      if course.isContradicted, !wasContradicted { contradictionCount += 1 }
    }
    var candidate = Heading(
      timestamp: timestamp, magneticHeading: normalizedDegrees(magnetic - courseBias),
      trueHeading: declination.map { normalizedDegrees(magnetic + $0 - courseBias) },
      headingAccuracy: accuracy)
    candidate.contradictsCourse = course.isContradicted
    if course.isContradicted {
      // The accuracy is at least the difference between heading and course, because either of them may be
      // wrong.
      candidate.headingAccuracy = max(accuracy ?? 0, abs(course.difference ?? Self.worstAccuracy))
    }
    candidate.isCalibrationWanted =
      calibration == .uncalibrated || (candidate.headingAccuracy ?? 0) > Self.worstAccuracy
    guard isReportable(candidate) else { return nil }
    heading = candidate
    return candidate
  }

  private func isReportable(_ candidate: Heading) -> Bool {
    guard let headingFilter, let heading else { return true }
    return candidate.contradictsCourse != heading.contradictsCourse
      || candidate.isCalibrationWanted != heading.isCalibrationWanted
      || (candidate.trueHeading == nil) != (heading.trueHeading == nil)
      || abs(signedDegrees(from: heading.magneticHeading, to: candidate.magneticHeading)) >= headingFilter
  }
}
