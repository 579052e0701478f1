internal import Glibc
public import Sensors
internal import Spatial

/// The values that a receiver measures for each report.
struct MeasuredValues: Hashable, Sendable {
  private var coordinate: Coordinate?
  private var (ellipsoidal, meanSeaLevel, climb): (Double?, Double?, Double?)
  private var (speed, course): (Double?, Double?)

  init(_ fix: PositionFix) {
    coordinate = fix.coordinate
    (ellipsoidal, meanSeaLevel, climb) = (fix.altitudeEllipsoidal, fix.altitudeMeanSeaLevel, fix.climb)
    (speed, course) = (fix.speed, fix.course)
  }
}

/// The state of the receiver's reports.
struct ReceiverState: Hashable, Sendable {
  /// The time of the last fix in s; nil before the first.
  var lastFix: Double?
  /// The time of the last accepted fix in s; nil before the first.
  var lastAccepted: Double?
  /// The time of the last report, used or not, s.
  var lastReport: Double?
  /// The position of the last report, used or not; nil before the first.
  var lastCoordinate: Coordinate?
  /// The values of the last report, used or not; nil before the first.
  var lastValues: MeasuredValues?
  /// The distance in m that the vehicle has moved while the receiver repeated `lastCoordinate`.
  var repeatedDistance = 0.0
  /// Position in the local frame of the last accepted fix, m; nil before the first.
  var position: Vector3?
  /// The standard deviation of `position` by axis, m.
  var deviation = 0.0
  /// The interval between fixes in s.
  var interval = 1.0
  var refusals = GNSSRefusalCounts()
  /// True if heights are above the ellipsoid; nil before the first height.
  var isEllipsoidal: Bool?

  mutating func accept(_ fix: GNSSMeasurement) {
    guard let position = fix.position else { return }
    self.position = position
    lastAccepted = fix.time
    interval = fix.interval
    deviation = fix.deviation.x
  }
}

extension NavigationFilter {
  /// The ratio of a 95 % radius to the standard deviation by axis.
  private static let radial95 = 2.4477
  /// The ratio of a 95 % interval to the standard deviation.
  private static let normal95 = 1.96
  /// The speed in m/s below which a report without a course means that the vehicle is almost at rest.
  private static let slowest = 1.0
  /// The distance in m above which a repeated position is wrong, and the speed in m/s from which the vehicle moves; as in
  /// the agent's `RepeatedPosition`.
  private static let (repeatedDistance, slowestDriving) = (5.0, 1.5)
  /// The smallest distance in m above which a repeated position of a precise receiver is wrong.
  private static let leastRepeatedDistance = 0.5

  /// Processes a report of the receiver, whose time is on the same monotonic clock as the scans. The filter
  /// estimates its latency.
  public mutating func process(_ fix: PositionFix) {
    guard origin != nil else { return }
    let time = seconds(fix.timestamp)
    guard fix.mode != .noFix, fix.quality != .deadReckoning else { return }
    guard time > now - 2, time < now + 5, pendingFixes.count < Self.mostPendingFixes else {
      counters.refusedFixes += 1
      return
    }
    let interval = receiver.lastReport.map { time - $0 } ?? 1
    guard interval > 0 else {
      counters.refusedFixes += 1
      return
    }
    let isRepeated = fix.coordinate != nil && fix.coordinate == receiver.lastCoordinate
    let values = MeasuredValues(fix)
    defer { receiver.lastValues = values }
    guard !isFrozen(fix, isRepeated: isRepeated, interval: interval),
      var measurement = measurement(
        fix, time: time, interval: min(2, max(0.02, interval)), isRepeated: isRepeated)
    else {
      counters.refusedFixes += 1
      return
    }
    receiver.lastReport = time
    measurement.isRepeated = isRepeated && values == receiver.lastValues
    pendingFixes.append(measurement)
  }

  /// Returns whether a report repeats a position that the vehicle has left.
  private mutating func isFrozen(_ fix: PositionFix, isRepeated: Bool, interval: Double) -> Bool {
    guard isRepeated else {
      if let coordinate = fix.coordinate {
        (receiver.lastCoordinate, receiver.repeatedDistance) = (coordinate, 0)
      }
      return false
    }
    // Without a velocity, an alignment would mistake repeated positions for rest.
    if state == .aligning, fix.speed == nil { return true }
    let speed = max(fix.speed ?? 0, state == .aligned ? leastSpeed : 0)
    if speed > Self.slowestDriving { receiver.repeatedDistance += speed * interval }
    let deviation = (fix.horizontalError ?? .infinity) / Self.radial95
    return receiver.repeatedDistance
      > min(Self.repeatedDistance, max(Self.leastRepeatedDistance, 2 * deviation))
  }

  /// Returns whether a report is skipped because it repeats all values of the previous one, which the filter has accepted.
  ///
  /// Receivers that hold their position at rest send such reports, and so do receivers that hang. They contain no new
  /// measurement. Used as measurements, the reports of a receiver that hung at rest pulled a vehicle that started slowly
  /// back by 1.1 m and 0.36 m/s within 2 s, with stated deviations of 0.06 m and 0.03 m/s (gnss-imu-drive).
  ///
  /// Reports without a velocity are used. They do not show the vibration of rest, so that `stops` cannot replace them:
  /// skipped, they increase the largest error from 12 to 40 m for a receiver that holds its position.
  mutating func skipsRepeated(_ fix: GNSSMeasurement) -> Bool {
    guard fix.isRepeated, fix.velocity != nil, isConfirmed, let position = fix.position else { return false }
    let age = now - fix.time
    let east = position.x - filter.predictedPosition(0, age: age).value
    let north = position.y - filter.predictedPosition(1, age: age).value
    // The receiver is present as long as the vehicle may be at the reported position.
    if leastSpeed <= 0, hypot(east, north) <= Self.repeatedDistance { receiver.accept(fix) }
    return true
  }

  /// The speed of the state in m/s, less three standard deviations.
  private var leastSpeed: Double {
    let variance = max(
      filter.covariance.variance(ErrorState.velocity), filter.covariance.variance(ErrorState.velocity + 1))
    return hypot(filter.state.velocity.x, filter.state.velocity.y) - 3 * variance.squareRoot()
  }

  /// Returns the report in the local frame; nil if it contains neither a usable position nor a usable
  /// velocity.
  private mutating func measurement(
    _ fix: PositionFix, time: Double, interval: Double, isRepeated: Bool
  ) -> GNSSMeasurement? {
    let horizontal: Double
    if let error = fix.horizontalError, error.isFinite, error >= 0 {
      horizontal = error / Self.radial95
    } else {
      // The range error is 3 m at a dilution of one; its value by axis is smaller by √2.
      horizontal = 2.1 * max(0.7, fix.horizontalDilution ?? 1.5)
    }
    let vertical = fix.verticalError.map { $0 / Self.normal95 } ?? 2 * horizontal
    guard horizontal.isFinite, horizontal < 1e4, vertical.isFinite, vertical < 1e4 else { return nil }
    let (position, hasHeight) = position(fix)
    let climb = fix.climb.flatMap { abs($0) < 100 ? $0 : nil }
    let stated = fix.speedError.flatMap { $0.isFinite && $0 >= 0 ? $0 / Self.normal95 : nil }
    var deviation = min(100, stated ?? max(0.1, 0.1 * horizontal))
    var velocity: Vector3?
    if let speed = fix.speed, speed.isFinite, speed >= 0, speed < 200 {
      if let course = fix.course, course.isFinite {
        velocity = Vector3(speed * sin(course.radians), speed * cos(course.radians), climb ?? 0)
      } else if speed < Self.slowest {
        // Receivers report no course near rest, where half of the speed is noise, so zero horizontal velocity
        // is assumed.
        velocity = Vector3(0, 0, climb ?? 0)
        deviation = max(deviation, speed)
      }
    }
    guard position != nil || velocity != nil else { return nil }
    var difference: PositionDifferences.Velocity?
    var course: PositionDifferences.Course?
    if let velocity {
      differences.reset()
      // A receiver that repeats its position repeats its course, too.
      course = isRepeated ? nil : PositionDifferences.Course(value: velocity, span: 0)
    } else if let coordinate = fix.coordinate, !isRepeated {
      course = differences.course(to: coordinate, at: time)
      difference = differences.add(coordinate, at: time, deviation: horizontal)
    }
    return GNSSMeasurement(
      time: time, interval: interval, position: position, hasHeight: hasHeight,
      deviation: Vector3(horizontal, horizontal, vertical), velocity: velocity,
      hasClimb: climb != nil, velocityDeviation: deviation, difference: difference,
      course: course)
  }

  /// Returns the position east, north, up in m, and whether the height is valid.
  private mutating func position(_ fix: PositionFix) -> (Vector3?, Bool) {
    guard let coordinate = fix.coordinate, coordinate.isValid, abs(coordinate.latitude) < 89.9 else {
      return (nil, false)
    }
    let altitude: Double?
    let hadHeight = receiver.isEllipsoidal != nil
    switch receiver.isEllipsoidal {
    case true?: altitude = fix.altitudeEllipsoidal
    case false?: altitude = fix.altitudeMeanSeaLevel
    case nil:
      altitude = fix.altitudeEllipsoidal ?? fix.altitudeMeanSeaLevel
      if altitude != nil { receiver.isEllipsoidal = fix.altitudeEllipsoidal != nil }
    }
    let height = altitude.flatMap { abs($0) < 1e5 ? $0 : nil }
    // Fixes of a vehicle at rest that were accepted in the previous frame remain accurate to metres in the
    // next frame.
    if state != .aligned, state != .aligning, pendingFixes.isEmpty { frame = nil }
    let frame: LocalFrame
    if let own = self.frame {
      frame = own
      if !hadHeight, let height {
        // The first reports can lack a height; the height of the state then started at zero.
        frameAltitude = height - (state == .aligned ? filter.state.position.z : 0)
        earth = Earth(latitude: coordinate.latitude, altitude: frameAltitude)
      }
    } else {
      frameAltitude = height ?? 0
      frame = LocalFrame(origin: coordinate, altitude: frameAltitude)
      self.frame = frame
      earth = Earth(latitude: coordinate.latitude, altitude: frameAltitude)
      for index in pendingFixes.indices { pendingFixes[index].position = nil }
    }
    let offset = frame.offset(of: coordinate)
    return (Vector3(offset.x, offset.y, (height ?? frameAltitude) - frameAltitude), height != nil)
  }

  /// Moves the origin of the local frame with the vehicle, because a flat frame is accurate only near its
  /// origin.
  mutating func recenter() {
    let position = filter.state.position
    guard let old = frame, hypot(position.x, position.y) > 2000 else { return }
    let origin = old.coordinate(at: SIMD2(position.x, position.y))
    guard origin.isValid, abs(origin.latitude) < 89.9 else { return }
    let altitude = frameAltitude
    let new = LocalFrame(origin: origin, altitude: altitude)
    func moved(_ v: Vector3) -> Vector3 {
      let offset = new.offset(of: old.coordinate(at: SIMD2(v.x, v.y)))
      return Vector3(offset.x, offset.y, v.z)
    }
    frame = new
    earth = Earth(latitude: origin.latitude, altitude: altitude)
    filter.state.position = moved(position)
    receiver.position = receiver.position.map(moved)
    filter.track.convert(moved)
    for index in pendingFixes.indices {
      pendingFixes[index].position = pendingFixes[index].position.map(moved)
    }
  }
}
