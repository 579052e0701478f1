import Foundation
import LiveSensors
import Motion
import Platform
import Positioning
import SensorFixtures
import Sensors
import Spatial
import TestSupport
import Testing

/// Checks the rows of the articles "Core Location" and "Core Motion" on live hardware: a real gpsd and an
/// emulated iiod at real-time pace. One device serves all rows.
@Suite(.serialized, .timeLimit(.minutes(3))) struct LiveMemberTests {
  typealias Check = @Sendable (LiveDevice, LiveMembers.Seen) -> Bool

  /// A row of an article: the first name of its first column, and the conditions of its columns "pull" and "push".
  struct Row: Sendable {
    var item: String
    var pull: Check?
    var push: Check?

    init(_ item: String, pull: Check? = nil, push: Check? = nil) {
      (self.item, self.pull, self.push) = (item, pull, push)
    }
  }

  private static func here(_ check: @escaping @Sendable (Location) -> Bool) -> (pull: Check, push: Check) {
    (
      { device, _ in device.location.location.map(check) ?? false },
      { _, seen in
        [seen.updates, seen.handledUpdates].allSatisfy { updates in
          updates.contains { $0.location.map(check) ?? false }
        }
      }
    )
  }

  private static func heading(_ check: @escaping @Sendable (Heading) -> Bool) -> (pull: Check, push: Check) {
    (
      { device, _ in device.location.withHeading { $0.heading }.map(check) ?? false },
      { _, seen in seen.headings.contains(where: check) }
    )
  }

  private static func motion(
    _ check: @escaping @Sendable (DeviceMotion) -> Bool
  ) -> (pull: Check, push: Check) {
    (
      { device, _ in device.motion.deviceMotion.map(check) ?? false },
      { _, seen in seen.motions.contains(where: check) }
    )
  }

  private static func row(_ item: String, _ checks: (pull: Check, push: Check)) -> Row {
    Row(item, pull: checks.pull, push: checks.push)
  }

  private static let locationRows: [Row] = [
    Row("locationServicesEnabled()", pull: { device, _ in device.location.locationServicesEnabled }),
    Row("authorizationStatus", pull: { device, _ in device.location.authorizationStatus == .authorized }),
    Row("accuracyAuthorization", pull: { _, seen in isReduced(seen) }),
    Row("requestTemporaryFullAccuracyAuthorization(withPurposeKey:)", pull: { _, seen in isReduced(seen) }),
    Row(
      "headingAvailable()",
      pull: { device, _ in
        device.location.headingAvailable && LocationService.allCases.allSatisfy(device.location.isAvailable)
      }),
    row("startUpdatingLocation()", here { $0.coordinate.isValid }),
    row("locationManager(_:didUpdateLocations:)", here { $0.coordinate.isValid }),
    row("location", here { $0.coordinate.isValid }),
    Row(
      "requestLocation()", pull: { _, seen in seen.requested != nil }, push: { _, seen in isRequested(seen) }),
    Row(
      "startMonitoringLocationPushes(completion:)", pull: { _, seen in seen.requested != nil },
      push: { _, seen in isRequested(seen) }),
    Row(
      "desiredAccuracy", pull: { device, _ in device.location.desiredAccuracy == .best },
      push: { _, seen in isReduced(seen) && seen.updates.contains { $0.location != nil } }),
    Row(
      "kCLLocationAccuracyReduced", pull: { _, seen in isReduced(seen) },
      push: { _, seen in isReduced(seen) }),
    Row(
      "distanceFilter", pull: { device, _ in device.location.distanceFilter == nil },
      push: { _, seen in
        let places = seen.filtered.filter { !$0.isStationary }.compactMap(\.location?.coordinate)
        return places.count >= 5 && zip(places, places.dropFirst()).allSatisfy { $0.distance(to: $1) > 29 }
      }),
    Row(
      "activityType", pull: { device, _ in device.location.activityType == .automotive },
      push: { _, seen in !seen.filtered.isEmpty }),
    Row(
      "pausesLocationUpdatesAutomatically",
      pull: { device, _ in !device.location.pausesLocationUpdatesAutomatically },
      push: { _, seen in seen.filtered.contains(where: \.isStationary) }),
    Row(
      "locationManagerDidPauseLocationUpdates(_:)", pull: { device, _ in !device.location.isPaused },
      push: { _, seen in seen.filtered.contains(where: \.isStationary) }),
    Row(
      "startMonitoringSignificantLocationChanges()", pull: { _, seen in !seen.significant.isEmpty },
      push: { _, seen in !seen.significant.isEmpty }),
    Row(
      "allowDeferredLocationUpdates(untilTraveled:timeout:)", pull: { _, seen in isDeferred(seen) },
      push: { _, seen in isDeferred(seen) }),
    Row(
      "locationManager(_:didFinishDeferredUpdatesWithError:)", pull: { _, seen in isDeferred(seen) },
      push: { _, seen in isDeferred(seen) }),
    Row(
      "CLVisit", pull: { device, _ in device.location.state(of: "depot") == .inside },
      push: { _, seen in seen.regions.contains { $0.kind == .dwell && $0.identifier == "depot" } }),
    Row("allowsBackgroundLocationUpdates", pull: { _, seen in seen.updates.count > 5 }),
    row("coordinate", here { $0.coordinate.distance(to: LiveVehicle.start) < 2000 }),
    row("horizontalAccuracy", here { $0.horizontalAccuracy.map { (0.1...50).contains($0) } ?? false }),
    row("altitude", here { $0.altitude.map { abs($0 - 100) < 5 } ?? false }),
    row("ellipsoidalAltitude", here { $0.ellipsoidalAltitude != nil }),
    row("verticalAccuracy", here { $0.verticalAccuracy != nil }),
    row("speed", here { $0.speed.map { abs($0 - 20) < 1 } ?? false }),
    row("speedAccuracy", here { $0.speedAccuracy != nil }),
    row("course", here { $0.course.map { abs($0 - 90) < 2 } ?? false }),
    row("timestamp", here { $0.time != nil }),
    row("sourceInformation", here { $0.source?.isEmpty == false }),
    Row(
      "distance(from:)",
      pull: { device, _ in
        device.location.location.map { $0.coordinate.distance(to: LiveVehicle.start) > 100 } ?? false
      }),
    Row(
      "CLLocationCoordinate2DIsValid(_:)",
      pull: { device, _ in device.location.location?.coordinate.isValid == true }),
  ]

  private static let headingAndRegionRows: [Row] = [
    row("startUpdatingHeading()", heading { $0.magneticHeading.isFinite }),
    row("heading", heading { $0.magneticHeading.isFinite }),
    row("magneticHeading", heading { (0..<360).contains($0.magneticHeading) }),
    row("trueHeading", heading { $0.trueHeading != nil }),
    row("headingAccuracy", heading { $0.headingAccuracy != nil }),
    row("timestamp of a heading", heading { $0.timestamp > Timestamp(nanoseconds: 0) }),
    Row(
      "headingFilter", pull: { device, _ in device.location.withHeading { $0.headingFilter } == nil },
      push: { _, seen in
        seen.rightHeadings.count >= 2 && seen.rightHeadings.count < seen.headings.count
      }),
    Row(
      "headingOrientation",
      pull: { device, _ in device.location.withHeading { $0.headingOrientation } == .portrait },
      push: { _, seen in
        guard let top = seen.headings.first, let right = seen.rightHeadings.first else { return false }
        return abs(abs(remainder(top.magneticHeading - right.magneticHeading, 360)) - 90) < 10
      }),
    row("locationManagerShouldDisplayHeadingCalibration(_:)", heading { !$0.isCalibrationWanted }),
    Row(
      "x", pull: { device, _ in device.motion.magnetometerData != nil },
      push: { _, seen in seen.fields.contains { abs($0.magneticField.z + 44) < 5 } }),
    Row(
      "CLRegion.identifier", pull: { device, _ in device.location.withMonitor { $0.count } == 2 },
      push: { _, seen in seen.regions.contains { $0.identifier == "gate" } }),
    Row(
      "notifyOnEntry", pull: { _, seen in seen.regions.contains { $0.kind == .enter } },
      push: { _, seen in seen.regions.contains { $0.kind == .exit } }),
    Row(
      "startMonitoring(for:)", pull: { device, _ in device.location.state(of: "gate") != nil },
      push: { _, seen in seen.regions.contains { $0.kind == .enter && $0.identifier == "gate" } }),
    Row(
      "stopMonitoring(for:)", pull: { device, _ in device.location.state(of: "removed") == nil },
      push: { _, seen in
        !seen.regions.isEmpty && !seen.regions.contains { $0.identifier == "removed" }
      }),
    Row(
      "locationManager(_:monitoringDidFailFor:withError:)",
      pull: { device, _ in
        (try? device.location.add(Region(identifier: "invalid", center: LiveVehicle.start, radius: -1)))
          == nil
      }, push: { _, seen in isFailed(seen) }),
    Row(
      "locationManager(_:didEnterRegion:)", pull: { _, seen in seen.regions.contains { $0.kind == .enter } },
      push: { _, seen in
        seen.regions.filter { $0.identifier == "gate" }.map(\.kind) == [.enter, .exit]
      }),
    Row(
      "locationManager(_:didDetermineState:for:)",
      pull: { device, _ in device.location.state(of: "gate") == .inside },
      push: { device, _ in device.location.state(of: "gate") == .outside }),
    Row(
      "locationManager(_:didFailWithError:)", pull: { device, _ in device.location.failure != nil },
      push: { _, seen in isFailed(seen) && seen.updates.contains { $0.failure != nil } }),
    Row(
      "CLError.headingFailure", pull: { device, _ in device.location.headingAvailable },
      push: { device, _ in device.location.headingAvailable }),
    Row(
      "CLError.regionMonitoringDenied",
      pull: { device, _ in device.location.availability.reason(against: .regions) != nil },
      push: { _, seen in isFailed(seen) }),
  ]

  private static let motionRows: [Row] = [
    Row(
      "CMMotionManager", pull: { device, _ in device.motion.isDeviceMotionAvailable },
      push: { _, seen in !seen.motions.isEmpty }),
    Row(
      "isAccelerometerAvailable",
      pull: { device, _ in
        let motion = device.motion
        return motion.isAccelerometerAvailable && motion.isGyroAvailable && motion.isMagnetometerAvailable
      }),
    Row(
      "isAccelerometerActive",
      pull: { device, _ in
        let motion = device.motion
        return motion.isAccelerometerActive && motion.isGyroActive && motion.isMagnetometerActive
          && motion.isDeviceMotionActive
      }),
    Row(
      "accelerometerUpdateInterval", pull: { device, _ in device.motion.isAccelerometerActive },
      push: { _, seen in
        let times = seen.slowAccelerations.map(\.timestamp)
        return times.count > 20
          && zip(times, times.dropFirst()).allSatisfy { abs($1.seconds(since: $0) - 0.1) < 0.02 }
      }),
    Row(
      "startAccelerometerUpdates()", pull: { device, _ in isPulled(device) },
      push: { _, seen in isPushed(seen) }),
    Row("startAccelerometerUpdates(to:withHandler:)", push: { _, seen in !seen.impacts.isEmpty }),
    Row("accelerometerData", pull: { device, _ in isPulled(device) }, push: { _, seen in isPushed(seen) }),
    row("deviceMotion", motion { $0.attitude != nil }),
    row("attitudeReferenceFrame", motion { $0.frame == .xTrueNorthZVertical }),
    Row(
      "availableAttitudeReferenceFrames()",
      pull: { device, _ in device.motion.availableAttitudeReferenceFrames.count == 4 }),
    row("CMDeviceMotion.attitude", motion { $0.attitude != nil }),
    row("rotationRate", motion { $0.rotationRate.map { abs($0.z) > 0.3 } ?? false }),
    row("gravity", motion { abs($0.gravity.z + 1) < 0.05 }),
    row("userAcceleration", motion { $0.userAcceleration.length > 1 }),
    row("magneticField", motion { $0.magneticField.map { abs($0.field.length - 48) < 5 } ?? false }),
    row("heading", motion { $0.heading != nil }),
    row("CMLogItem.timestamp", motion { $0.timestamp > Timestamp(nanoseconds: 0) }),
    Row(
      "CMAccelerometerData", pull: { device, _ in device.motion.accelerometerData != nil },
      push: { _, seen in seen.accelerations.contains { abs($0.acceleration.z + 1) < 0.05 } }),
    Row(
      "CMGyroData", pull: { device, _ in device.motion.gyroData != nil },
      push: { _, seen in seen.rates.contains { abs($0.rotationRate.z) > 0.3 } }),
    Row(
      "CMMagnetometerData", pull: { device, _ in device.motion.magnetometerData != nil },
      push: { _, seen in seen.fields.contains { abs($0.magneticField.z + 44) < 5 } }),
    row("CMAttitude.quaternion", motion { $0.attitude?.quaternion != nil }),
    row("roll", motion { $0.attitude.map { abs($0.roll) > 1 } ?? false }),
    row("rotationMatrix", motion { $0.attitude?.rotationMatrix != nil }),
    row("multiply(byInverseOf:)", motion { $0.attitude != nil }),
    row("xTrueNorthZVertical", motion { $0.frame == .xTrueNorthZVertical }),
    Row(
      "CMAltimeter",
      pull: { device, _ in
        device.motion.isRelativeAltitudeAvailable && device.motion.isAbsoluteAltitudeAvailable
      }),
    Row(
      "startRelativeAltitudeUpdates(to:withHandler:)",
      pull: { device, _ in device.motion.altitudeData != nil },
      push: { _, seen in !seen.altitudes.isEmpty }),
    Row(
      "CMAltitudeData.relativeAltitude",
      pull: { device, _ in device.motion.altitudeData.map { abs($0.relativeAltitude) < 5 } ?? false },
      push: { _, seen in seen.altitudes.contains { abs($0.pressure - 101.325) < 0.1 } }),
    Row(
      "startAbsoluteAltitudeUpdates(to:withHandler:)",
      pull: { device, _ in device.motion.absoluteAltitudeData != nil },
      push: { _, seen in seen.absoluteAltitudes.contains { abs($0.altitude - 100) < 10 } }),
    Row(
      "CMAbsoluteAltitudeData.accuracy",
      pull: { device, _ in device.motion.absoluteAltitudeData.map { $0.accuracy > 0 } ?? false },
      push: { _, seen in seen.absoluteAltitudes.contains { $0.precision > 0 } }),
    Row(
      "CMAmbientPressureData", pull: { device, _ in device.motion.altitudeData != nil },
      push: { _, seen in seen.altitudes.contains { abs($0.pressure - 101.325) < 0.1 } }),
    Row(
      "CMSensorRecorder.recordAccelerometer(forDuration:)", pull: { _, seen in seen.recording != nil },
      push: { _, seen in seen.recording.map { $0.samples.count >= 45 } ?? false }),
    Row(
      "accelerometerData(from:to:)",
      pull: { _, seen in seen.recording.map { !$0.samples.isEmpty && $0.gaps.isEmpty } ?? false }),
    Row(
      "CMMotionActivityManager.startActivityUpdates(to:withHandler:)",
      pull: { _, seen in seen.activities.contains { $0.state == .moving } },
      push: { _, seen in seen.activities.contains { $0.state == .stationary } }),
    Row(
      "CMMotionActivity.startDate", pull: { _, seen in !seen.activities.isEmpty },
      push: { device, seen in
        seen.activities.last.map { $0.startDate > Timestamp(nanoseconds: 0) && $0.startDate < device.now }
          ?? false
      }),
    Row("CMAuthorizationStatus", pull: { device, _ in device.location.availability.deniedNodes == [:] }),
    Row(
      "motionBegan(_:with:)", pull: { _, seen in isShaken(seen) }, push: { _, seen in isShaken(seen) }),
    Row(
      "motionEnded(_:with:)", pull: { _, seen in isShaken(seen) },
      push: { _, seen in
        seen.shakes.contains { if case .ended(_, _, axis: .horizontal) = $0 { true } else { false } }
      }),
    Row(
      "an impact", pull: { _, seen in !seen.impacts.isEmpty },
      push: { _, seen in seen.impacts.contains { $0.peak > 4 } }),
    Row(
      "UIDevice.orientation", pull: { _, seen in seen.orientations.contains(.faceUp) },
      push: { _, seen in seen.orientations.contains { $0 == .landscapeLeft || $0 == .landscapeRight } }),
    Row(
      "isPortrait",
      pull: { _, seen in seen.orientations.last.map { abs($0.gravity.length - 1) < 1e-9 } ?? false }),
  ]

  /// Rows without hardware and rows that this device cannot show, with the test that covers each.
  private static let elsewhere = [
    "positions without a receiver": "LiveRadioTests: radios",
    "floor": "FloorTests: a garage",
    "courseAccuracy": "AccuracyModelTests: gpsd 3.22 does not report it for this receiver",
    "disallowDeferredLocationUpdates()": "DeferralTests: ends the deferral of this device early",
    "CLCircularRegion": "RegionCollectionTests: a value",
    "CLCircularRegion.contains(_:)": "RegionReplayTests: a function",
    "polygons with holes": "PolygonTests: a value",
    "monitoredRegions": "FleetManagementTests: a document's result",
    "maximumRegionMonitoringDistance": "RegionReplayTests: a function",
    "regions that persist across restarts": "RegionReplacementTests: a restart",
    "CLError.locationUnknown": "LocationManagerTests: a minute without a fix",
    "CLError.denied": "LocationReportsTests: a setting",
    "CLError.deferredFailed": "LiveLocationHardwareTests: a contradictory setting",
    "a location request without an answer": "LiveLocationHardwareTests: no receiver",
    "CMBatchedSensorManager": "EmulatedIIODTests: blocks of the source",
    "CMAttitudeReferenceFrame.xArbitraryZVertical": "LiveMotionHardwareTests: another frame",
    "xArbitraryCorrectedZVertical": "MotionManagerTests: another frame",
    "xMagneticNorthZVertical": "LiveMotionHardwareTests: another frame",
    "a level surface as zero": "LevelTests: a measurement",
    "queryActivityStarting(from:to:to:withHandler:)": "RecordCommandTests: the fleet's recording",
    "motionCancelled(_:with:)": "ShakeDetectorTests: a long shake",
    "UIDeviceOrientation.unknown": "OrientationTests: free fall",
    "UIDevice.systemName": "SystemProbeTests: the machine",
    "CMErrorDeviceRequiresMovement": "FilterAccuracyTests: a start in motion",
    "CMErrorTrueNorthNotAvailable": "MotionManagerTests: no receiver",
    "CMErrorNotAvailable": "LiveMotionHardwareTests: missing chips",
    "CMErrorNotAuthorized": "ServiceAvailabilityTests: permissions",
    "CMErrorNilData": "MotionManagerTests: invalid samples",
    "CMErrorInvalidParameter": "ConsumerTests: intervals",
  ]

  private static func isReduced(_ seen: LiveMembers.Seen) -> Bool {
    seen.reduced.contains { $0.location?.horizontalAccuracy.map { $0 > 1000 } ?? false }
  }

  private static func isRequested(_ seen: LiveMembers.Seen) -> Bool {
    seen.requested?.horizontalAccuracy.map { $0 <= 30 } ?? false
  }

  private static func isDeferred(_ seen: LiveMembers.Seen) -> Bool {
    seen.updates.contains { $0.didFinishDeferredUpdates && $0.deferralError == nil }
  }

  private static func isFailed(_ seen: LiveMembers.Seen) -> Bool {
    seen.failures.contains { if case .receiverUnavailable = $0 { true } else { false } }
  }

  private static func isShaken(_ seen: LiveMembers.Seen) -> Bool {
    seen.shakes.contains { if case .began(_, axis: .horizontal) = $0 { true } else { false } }
  }

  private static func isPulled(_ device: LiveDevice) -> Bool {
    let motion = device.motion
    return motion.accelerometerData != nil && motion.gyroData != nil && motion.magnetometerData != nil
  }

  private static func isPushed(_ seen: LiveMembers.Seen) -> Bool {
    !seen.accelerations.isEmpty && !seen.rates.isEmpty && !seen.fields.isEmpty
  }

  /// Returns the rows of an article that describe a feature, by the first name in their first column.
  private static func rows(_ article: String) throws -> [(item: String, cells: [String: String])] {
    let path = "\(ContractScript.repository)/Sources/\(article).md"
    let table = FrameworkTable(try String(contentsOfFile: path, encoding: .utf8), name: article)
    return table.rows.filter { $0.cells["pull"] != nil }.map { row in
      let head = row.item.split(separator: #/, |: | \(|, as /#, maxSplits: 1).first ?? ""
      return (String(head.replacing("`", with: "")), row.cells)
    }
  }

  private static let articles = [
    "Positioning/Documentation.docc/CoreLocation", "Motion/Documentation.docc/CoreMotion",
  ]

  private static func checks(_ article: String) -> [Row] {
    article.hasSuffix("CoreMotion") ? motionRows : locationRows + headingAndRegionRows
  }

  /// Each row has conditions exactly for the columns "pull" and "push" that name a member.
  @Test(arguments: articles) func everyRowIsChecked(article: String) throws {
    let rows = try Self.rows(article)
    let checks = Self.checks(article)
    #expect(rows.count > 40)
    for row in rows where Self.elsewhere[row.item] == nil {
      guard let check = checks.first(where: { $0.item == row.item }) else {
        Issue.record("no conditions for \(row.item)")
        continue
      }
      #expect((check.pull == nil) == row.cells["pull"]?.hasPrefix("none: "), "\(row.item)")
      #expect((check.push == nil) == row.cells["push"]?.hasPrefix("none: "), "\(row.item)")
    }
    let known = Set(rows.map(\.item))
    for check in checks { #expect(known.contains(check.item), "\(check.item)") }
  }

  /// Conditions that are not yet satisfied, by row and column ("pull" or "push").
  private struct Pending {
    private var left: [String: Check] = [:]

    init(_ rows: [Row]) {
      for row in rows {
        left["\(row.item), pull"] = row.pull
        left["\(row.item), push"] = row.push
      }
    }

    mutating func update(_ members: LiveMembers) -> [String] {
      let seen = members.state.withLock { $0 }
      left = left.filter { !$0.value(members.device, seen) }
      return left.keys.sorted()
    }
  }

  @Test(.needs(.gpsd)) func everyRowHoldsOnLiveHardware() async throws {
    let scratch = try ScratchFolder()
    let vehicle = try LiveVehicle()
    let seconds = 28
    let members = try LiveMembers(vehicle, end: 20 * Double(seconds))
    try await members.device.discover()
    vehicle.sensors.play(LiveVehicle.gestures)
    vehicle.drive(seconds: seconds)
    var pending = Pending(Self.locationRows + Self.headingAndRegionRows + Self.motionRows)
    /// Waits until only conditions of later phases remain.
    func wait(_ limit: Double, besides later: [String]) async throws {
      let end = MonotonicTime.after(limit)
      while !end.hasPassed {
        if pending.update(members).allSatisfy({ name in later.contains { name.hasPrefix($0) } }) { return }
        try await Task.sleep(for: .milliseconds(50))
      }
    }
    let failing = [
      "locationManager(_:didFail", "CLError.regionMonitoring", "locationManager(_:monitoringDidFail",
    ]
    let resting = ["pauses", "locationManagerDidPause", "CLVisit", "CMMotionActivity"]
    try await eventually { members.state.withLock { !$0.updates.isEmpty } }
    members.request(recordingTo: scratch.path + "/history")
    try await wait(50, besides: failing + resting)
    vehicle.rest()
    try await wait(60, besides: failing)
    vehicle.receiver.stop()
    try await wait(20, besides: [])
    #expect(pending.update(members).isEmpty, "\(pending.update(members))")
    members.stop()
    try await eventually { !vehicle.sensors.isCapturing(.accelerometer) }
  }
}
