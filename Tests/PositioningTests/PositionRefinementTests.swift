import Foundation
import Positioning
import Simulation
import Spatial
import TestSupport
import Testing

/// Positions of a device at rest that are reported because they are more accurate.
@Suite struct PositionRefinementTests {
  /// Returns the accuracies of the locations that are reported of a device at rest, with one fix per second.
  private func reported(_ manager: LocationManager, _ accuracies: [Double?], speed: Double? = 0) -> [Double?]
  {
    var manager = manager
    return accuracies.enumerated().flatMap { second, accuracy in
      manager.process(Place.location(Double(second), 0, speed: speed, accuracy: accuracy)).compactMap {
        switch $0 {
        case .location(let location), .significantChange(let location): .some(location.horizontalAccuracy)
        default: nil
        }
      }
    }
  }

  private static let significant: LocationManager = {
    var manager = LocationManager(desiredAccuracy: .kilometer)
    manager.startMonitoringSignificantLocationChanges()
    return manager
  }()

  struct Row: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var manager: LocationManager
    var accuracies: [Double?]
    var reported: [Double?]
  }

  @Test(arguments: [
    Row(
      testDescription: "significant changes", manager: significant, accuracies: [925, 500, 400, 150, 30, 5],
      reported: [925, 400, 150, 30]),
    Row(
      testDescription: "a coarse filter", manager: .updating(.kilometer, distanceFilter: 1000),
      accuracies: [925, 463, 462, 5, 2], reported: [925, 462, 5]),
    Row(
      testDescription: "a fine filter", manager: .updating(distanceFilter: 30),
      accuracies: [925, 60, 31, 29, 5], reported: [925, 60, 29]),
    Row(
      testDescription: "a finer desired accuracy", manager: .updating(.nearestTenMeters, distanceFilter: 100),
      accuracies: [40, 21, 20, 8, 2], reported: [40, 20, 8]),
    Row(
      testDescription: "an unknown accuracy", manager: .updating(distanceFilter: 30),
      accuracies: [nil, nil, 900, nil, 800, 450], reported: [nil, 900, 450]),
    Row(
      testDescription: "a sufficient accuracy", manager: .updating(distanceFilter: 30),
      accuracies: [30, 3, 1], reported: [30]),
    Row(
      testDescription: "a loss of accuracy", manager: .updating(distanceFilter: 30),
      accuracies: [20, 900, 10, 900, 3], reported: [20]),
    // Only what is shown counts: the cell hides the accuracy of the receiver.
    Row(
      testDescription: "reduced accuracy", manager: .updating(.reduced, distanceFilter: 100),
      accuracies: [925, 300, 5], reported: [nil]),
  ])
  func muchMoreAccuratePositionIsReported(row: Row) {
    let reported = reported(row.manager, row.accuracies)
    guard row.manager.desiredAccuracy != .reduced else {
      #expect(reported.count == row.reported.count, "\(reported)")
      return
    }
    #expect(reported == row.reported)
  }

  /// However noisy the accuracy is, the number of reports of a device at rest has a limit.
  @Test(arguments: 1...20) func noisyReceiverCausesFewReports(seed: Int) {
    var random = SeededGenerator(seed: UInt64(seed))
    let accuracies: [Double?] = (0..<5000).map { _ in
      pow(10, Double.random(in: 0...3.5, using: &random))
    }
    let largest = accuracies.compactMap { $0 }.max() ?? 0
    for (manager, sufficient) in [
      (Self.significant, 100.0), (.updating(distanceFilter: 500), 100), (.updating(distanceFilter: 20), 20),
    ] {
      let reported = reported(manager, accuracies).compactMap { $0 }
      #expect(Double(reported.count) <= 1 + log2(largest / sufficient).rounded(.up), "\(reported)")
      #expect(zip(reported, reported.dropFirst()).allSatisfy { $1 <= $0 / 2 })
      #expect(reported.last.map { $0 <= sufficient } == true)
    }
  }

  /// In motion, the filter alone decides.
  @Test func movingDeviceReportsByDistanceOnly() {
    #expect(reported(.updating(distanceFilter: 500), [925, 5], speed: 10) == [925])
    #expect(reported(Self.significant, [925, 5], speed: 10) == [925])
    #expect(reported(.updating(distanceFilter: 500), [925, 5], speed: nil) == [925, 5])
  }

  /// After such a report, the requirements are those of a device whose first position was accurate.
  @Test(arguments: [significant, .updating(.kilometer, distanceFilter: 500), .updating(distanceFilter: 50)])
  func reportRequiresNoPower(manager: LocationManager) {
    var (coarse, fine) = (manager, manager)
    _ = coarse.process(Place.location(0, 40, speed: 0, accuracy: 925))
    _ = fine.process(Place.location(0, 0, speed: 0, accuracy: 5))
    #expect(!coarse.process(Place.location(1, 0, speed: 0, accuracy: 5)).isEmpty)
    #expect(fine.process(Place.location(1, 0, speed: 0, accuracy: 5)).isEmpty)
    #expect(coarse.needs == fine.needs)
  }

  /// The interval between significant changes starts with the change, and the distance with the more accurate position.
  @Test func nextSignificantChangeFollowsTheAccuratePosition() {
    var manager = Self.significant
    #expect(manager.process(Place.location(0, 400, speed: 0, accuracy: 925)).count == 1)
    #expect(manager.process(Place.location(200, 0, speed: 0, accuracy: 5)).count == 1)
    #expect(manager.process(Place.location(299, 600, speed: 10, accuracy: 5)).isEmpty)
    #expect(manager.process(Place.location(300, 600, speed: 10, accuracy: 5)).count == 1)
  }

  /// A device that pauses before its first fix reports it, and later much more accurate ones.
  @Test func pausedDeviceReportsItsFirstAndBetterPositions() {
    var manager = LocationManager.updating(distanceFilter: 100, pauses: true)
    _ = manager.observe(.stationary, at: Timestamp(seconds: 0))
    #expect(manager.advance(to: Timestamp(seconds: 30)) == [.paused(nil)])
    let told = [(35.0, 900.0), (36, 500), (1800, 400), (3600, 90), (5400, 4)].map { second, accuracy in
      manager.process(Place.location(second, 0, speed: 0, accuracy: accuracy)).count
    }
    #expect(told == [1, 0, 1, 1, 0] && manager.isPaused)
  }

  /// With a distance filter, a batch contains the more accurate position.
  @Test func deferredUpdatesContainTheAccuratePosition() {
    var manager = LocationManager.updating(distanceFilter: 500)
    manager.continuousDeferral = DeferralLimits(distance: nil, timeout: 10)
    for (second, accuracy) in [(0.0, 925.0), (1, 800), (2, 5), (3, 2)] {
      #expect(manager.process(Place.location(second, 0, speed: 0, accuracy: accuracy)).isEmpty)
    }
    let events = manager.advance(to: Timestamp(seconds: 10))
    guard case .batch(let fixes)? = events.first else {
      Issue.record("\(events)")
      return
    }
    #expect(fixes.map(\.horizontalAccuracy) == [925, 5])
  }

  /// A required report takes effect with its fix, immediately, and does not keep the receiver on.
  @Test(arguments: [0.0, 5]) func requiredReportIsImmediate(delay: Double) {
    let plane = PlaneTrack()
    var reporter = BoundedReporter(epsilon: 20, delay: delay)
    for second in 0..<20 { _ = reporter.process(plane.location(Double(second), 0, speed: 0, course: 0)) }
    let next = plane.location(20, 3, speed: 0, course: 0)
    #expect(reporter.process(next, isRequired: true).map(\.moment) == [next.timestamp])
    #expect(reporter.oldestOpen == nil && reporter.secondsUnwatched.map { $0 > 0 } == true)
    #expect(reporter.process(plane.location(21, 3, speed: 0, course: 0)).isEmpty)
  }
}
