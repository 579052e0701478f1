import AllocationCounter
import Sensors
import Simulation
import Spatial
import TestSupport
import Testing

@testable import Traces

@Suite struct TraceRingTests {
  private static var isMeasured: Bool {
    #if DEBUG && !OPTIMIZED
      false
    #else
      allocation_is_counted()
    #endif
  }

  private func samples(_ ring: TraceRing) throws -> [TraceSample] {
    guard let times = ring.times else { return [] }
    return try ring.blocks(times).flatMap { try #require(TraceBlock(bytes: $0)).samples }
  }

  @Test func theRingRetainsTheLastSeconds() throws {
    let random = SeededGenerator.announced()
    let scans = SimulatedScans(random, seconds: 100, noise: 4).scans
    var ring = TraceRing()
    for (index, scan) in scans.enumerated() {
      ring.append(.inertial(scan))
      guard index % 997 == 0, let times = ring.times else { continue }
      let span = times.upperBound.seconds(since: times.lowerBound)
      #expect(span <= 34.1 && span >= min(30, Double(index) / 400) - 0.01)
      #expect(ring.byteCount < 120_000 && ring.refused == 0)
    }
    let kept = try samples(ring)
    #expect(kept.count == ring.count && kept.count >= 12_000)
    // The samples are complete and in order.
    let times = scans.suffix(kept.count).map(\.timestamp)
    #expect(kept.map(\.timestamp) == times)
    let span = times[400]...times[1200]
    let cut = try ring.blocks(span).flatMap { try #require(TraceBlock(bytes: $0)).samples }
    #expect(cut.count < 2500 && cut.filter { span.contains($0.timestamp) }.count == 801)
  }

  @Test func bytesAreBounded() {
    var settings = TraceRing.Settings()
    settings.bytes = 20_000
    var ring = TraceRing(settings: settings)
    let random = SeededGenerator.announced()
    for scan in SimulatedScans(random, seconds: 30, noise: 100).scans {
      ring.append(.inertial(scan))
      #expect(ring.byteCount <= 20_000)
    }
    #expect(ring.count > 400)
  }

  /// Blocks are packed every 2 s; appending a sample in between allocates no memory.
  @Test(
    .enabled(
      if: isMeasured, "a debug build allocates iterators, and a sanitizer replaces the allocator"))
  func inTheSteadyStateASampleAllocatesNothing() {
    let random = SeededGenerator.announced()
    let scans = SimulatedScans(random, seconds: 61, noise: 4).scans
    var ring = TraceRing()
    var (without, most) = (0, 0)
    for (index, scan) in scans.enumerated() {
      let before = allocation_count()
      ring.append(.inertial(scan))
      let count = Int(allocation_count() - before)
      guard index >= 400 * 40 else { continue }
      if count == 0 { without += 1 } else { most = max(most, count) }
    }
    // Eleven blocks are packed in these 21 s.
    #expect(without >= 400 * 21 - 12, "\(without) without, at most \(most)")
  }

  @Test func aSensorsStepsAreFoundAndKept() throws {
    let random = SeededGenerator.announced()
    let drive = SimulatedScans(random, seconds: 5, noise: 4)
    var finder = ResolutionFinder()
    for scan in drive.scans.prefix(400) { _ = finder.process(.inertial(scan)) }
    for axis in 0..<3 {
      #expect(abs(finder.resolution.specificForce[axis] / SimulatedScans.steps.force - 1) < 1e-9)
      #expect(abs(finder.resolution.rotationRate[axis] / SimulatedScans.steps.rate - 1) < 1e-9)
    }
    #expect(finder.resolution.magneticField == TraceResolution().magneticField)
    // A scan with another range and step is not rounded to the previous step.
    var ring = TraceRing()
    for scan in drive.scans { ring.append(.inertial(scan)) }
    let finer = drive.scans.map { scan in
      var scan = scan
      scan.timestamp = scan.timestamp.advanced(bySeconds: 5)
      scan.specificForce = scan.specificForce.map { $0 / 4 }
      return scan
    }
    for scan in finer { ring.append(.inertial(scan)) }
    let kept = try samples(ring).suffix(2000)
    for (sample, scan) in zip(kept, finer) {
      guard case .inertial(let read) = sample, let was = scan.specificForce, let force = read.specificForce
      else {
        Issue.record("no scan")
        return
      }
      #expect((force - was).length < 1e-4)
    }
  }

  /// A mounting with odd angles leaves no step in the values; then the finest resolution is used.
  @Test func withoutStepsTheFinestResolutionIsUsed() {
    var random = SeededGenerator.announced()
    let turn = Quaternion(rotationVector: Vector3(0.3, 0.2, -0.7))
    var finder = ResolutionFinder()
    for scan in SimulatedScans(random, seconds: 2, noise: 4).scans {
      _ = finder.process(
        .inertial(
          InertialScan(timestamp: scan.timestamp, specificForce: turn.rotate(scan.specificForce ?? .zero))))
    }
    #expect(finder.resolution.specificForce == TraceResolution().specificForce)
    _ = random.next()
  }

  @Test func backwardSamplesAreRefusedAndAGapClearsTheRing() throws {
    var ring = TraceRing()
    func scan(_ seconds: Double) -> TraceSample {
      .inertial(InertialScan(timestamp: Timestamp(seconds: seconds), specificForce: Vector3(0, 0, 9.8)))
    }
    for step in 0..<100 { ring.append(scan(100 + Double(step) / 10)) }
    ring.append(scan(50))
    ring.append(scan(107))
    #expect(ring.refused == 1 && ring.count == 101)
    // A sample more than a minute ahead starts a new time line.
    ring.append(scan(500))
    #expect(ring.count == 1)
    ring.removeAll()
    #expect(
      ring.times == nil && ring.blocks(Timestamp(nanoseconds: .min)...Timestamp(nanoseconds: .max)).isEmpty)
    ring.append(scan(3))
    #expect(try samples(ring).count == 1)
  }
}
