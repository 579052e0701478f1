import AllocationCounter
import Navigation
import Sensors
import Simulation
import Spatial
import TestSupport
import Testing

/// Invalid input: no trap, no non-finite results, no lasting effect.
@Suite struct RobustnessTests {
  private static let absurd: [Double] = [
    .nan, .infinity, -.infinity, 0, -0.0, 1e308, -1e308, .leastNonzeroMagnitude, 1e30, -1e9, 90, 180, -180, 1,
    0.5,
  ]

  private static var isOptimized: Bool {
    #if DEBUG && !OPTIMIZED
      false
    #else
      true
    #endif
  }

  /// Valid samples with random invalid ones in between.
  @Test func invalidInputNeitherTrapsNorPersists() {
    var generator = SeededGenerator.announced()
    let samples = SyntheticDrive(length: 200).samples(&generator)
    var filter = NavigationFilter()
    var estimates = 0
    func any() -> Double { Self.absurd[Int(generator.nextUniform() * Double(Self.absurd.count))] }
    func vector() -> Vector3 { Vector3(any(), any(), any()) }
    for sample in samples {
      if generator.nextUniform() < 0.02 {
        let time = generator.nextUniform() < 0.9 ? sample.scan.timestamp : Timestamp(seconds: any())
        filter.process(InertialScan(timestamp: time, specificForce: vector(), rotationRate: vector()))
        var fix = PositionFix(timestamp: time, mode: .threeDimensional)
        fix.coordinate = Coordinate(latitude: any(), longitude: any())
        (fix.altitudeEllipsoidal, fix.horizontalError, fix.verticalError) = (any(), any(), any())
        (fix.speed, fix.course, fix.climb, fix.speedError) = (any(), any(), any(), any())
        fix.horizontalDilution = any()
        filter.process(fix)
        filter.process(WheelSpeed(timestamp: time, speed: any()))
        filter.process(PressureData(timestamp: time, pressure: any()))
      }
      if let fix = sample.fix { filter.process(fix) }
      filter.process(sample.scan)
      if let estimate = filter.estimate {
        estimates += 1
        #expect(estimate.coordinate.isValid && estimate.velocity.isFinite && estimate.attitude.isFinite)
        #expect(estimate.radius68.isFinite && estimate.radius95 >= estimate.radius68)
      }
      _ = filter.correctedTrack
    }
    #expect(filter.counters.refusedSamples > 10 && estimates > 0)
    // After the invalid input, navigation aligns again on a later drive.
    let rest = SyntheticDrive(length: 200).samples(&generator)
    var offset = filter
    for sample in rest {
      let shift = 1e6
      var scan = sample.scan
      scan.timestamp = scan.timestamp.advanced(bySeconds: shift)
      if var fix = sample.fix {
        fix.timestamp = fix.timestamp.advanced(bySeconds: shift)
        offset.process(fix)
      }
      offset.process(scan)
    }
    #expect(offset.state == .aligned)
  }

  /// After a clock step backward or forward, navigation restarts and is accurate again.
  @Test(arguments: [-500.0, -0.5, 0.5, 3600])
  func clockJumpsAreHandled(_ step: Double) throws {
    var generator = SeededGenerator.announced()
    let samples = SyntheticDrive(length: 300).samples(&generator)
    var filter = NavigationFilter()
    for sample in samples {
      let shift = sample.truth.time > 120 ? step : 0
      var scan = sample.scan
      scan.timestamp = scan.timestamp.advanced(bySeconds: shift)
      if var fix = sample.fix {
        fix.timestamp = fix.timestamp.advanced(bySeconds: shift)
        filter.process(fix)
      }
      filter.process(scan)
    }
    #expect(try #require(filter.error(samples[samples.count - 1].truth)) < 3)
  }

  /// Covers samples, fixes, speeds, stops, an outage with track correction, and the start.
  @Test(
    .enabled(if: allocation_is_counted(), "a sanitizer replaces the allocator"),
    .enabled(if: isOptimized, "ranges and closures allocate in a debug build"))
  func filterAllocatesNothingPerSample() {
    var generator = SeededGenerator.announced()
    let samples = SyntheticDrive(length: 240).samples(&generator)
    func feed(_ filter: inout NavigationFilter) {
      // No iterator: the standard library's iterators allocate in a debug build.
      var index = 0
      while index < samples.count {
        if let fix = samples[index].fix, samples[index].truth.time < 150 || samples[index].truth.time > 180 {
          filter.process(fix)
        }
        filter.process(samples[index].speed)
        filter.process(samples[index].scan)
        index += 1
      }
    }
    var filter = NavigationFilter()
    feed(&filter)
    filter = NavigationFilter()
    let before = allocation_count()
    feed(&filter)
    let count = Int(allocation_count() - before)
    #expect(count == 0, "\(count) allocations for \(samples.count) samples")
    #expect(filter.state == .aligned && filter.isTrackFinished)
  }
}
