import AllocationCounter
import Motion
import Sensors
import Spatial
import TestSupport
import Testing

/// Processing of a sample allocates no memory.
@Suite struct AllocationTests {
  private static var isCounted: Bool { allocation_is_counted() }

  private static var isOptimized: Bool {
    #if DEBUG && !OPTIMIZED
      false
    #else
      true
    #endif
  }

  /// Number of allocations by `body`.
  private func allocations(_ body: () -> Void) -> Int {
    let before = allocation_count()
    body()
    return Int(allocation_count() - before)
  }

  /// Allocations are counted at all.
  @Test(.enabled(if: isCounted, "a sanitizer replaces the allocator"))
  func allocationsAreCounted() {
    var kept: [[Int]] = []
    let count = allocations { for index in 0..<100 { kept.append([index]) } }
    #expect(count >= 100 && kept.count == 100)
  }

  /// Covers blocks, rest, motion, gaps, saturation, hard and soft iron, jumps and rejected samples.
  @Test(.enabled(if: isCounted, "a sanitizer replaces the allocator"))
  func filterAllocatesNothingPerSample() {
    var simulation = FilterSimulation(seed: 51)
    simulation.rotation = 3
    simulation.hardIron = Vector3(8, -6, 10)
    simulation.softIron = [Vector3(0.12, 0.05, 0), Vector3(0.05, -0.08, 0.04), Vector3(0, 0.04, -0.04)]
    let samples = simulation.samples(60)
    let limit = Vector3(repeating: 7)
    func feed(_ filter: inout ScreenedFilter) {
      // No iterator: the standard library's iterators allocate in a debug build.
      var i = 0
      while i < samples.count {
        defer { i += 1 }
        guard i % 400 > 12 else { continue }
        let sample = samples[i]
        let magnet = i > 8000 ? Vector3(15, 0, 0) : .zero
        filter.update(
          gyroscope: sample.rate.clamped(lowerBound: -limit, upperBound: limit), at: sample.time)
        filter.update(accelerometer: sample.force, at: sample.time)
        filter.update(magnetometer: sample.field + magnet, at: sample.time)
        if i % 1000 == 500 { filter.update(gyroscope: Vector3(.nan, 0, 0), at: sample.time) }
      }
    }
    // The first pass makes the runtime load its type metadata.
    var filter = ScreenedFilter()
    feed(&filter)
    filter = ScreenedFilter()
    let count = allocations { feed(&filter) }
    #expect(count == 0, "\(count) allocations for \(3 * samples.count) samples")
    #expect(filter.counters.gaps > 10 && filter.counters.saturated > 10 && filter.count(\.notFinite) > 5)
  }

  /// Complete blocks through the manager.
  @Test(.enabled(if: isCounted && isOptimized, "iterators allocate in a debug build"))
  func managerAllocatesNothingPerSample() {
    let samples = FilterSimulation(seed: 52).samples(20)
    var manager = MotionManager(frame: .xMagneticNorthZVertical)
    let rates = samples.map { InertialScan(timestamp: $0.time, rotationRate: $0.rate) }
    let forces = samples.map { InertialScan(timestamp: $0.time, specificForce: $0.force) }
    let fields = samples.map { InertialScan(timestamp: $0.time, magneticField: $0.field) }
    let blocks = stride(from: 0, to: samples.count - 19, by: 20).map { start in
      let block = start..<start + 20
      return (Array(fields[block]), Array(forces[block]), Array(rates[block]))
    }
    func feed(_ part: ArraySlice<([InertialScan], [InertialScan], [InertialScan])>) {
      for (field, force, rate) in part {
        manager.process(field)
        manager.process(force)
        manager.process(rate)
      }
    }
    // The queues of waiting samples grow to their final size at the start.
    feed(blocks[..<20])
    let count = allocations { feed(blocks[20...]) }
    #expect(count < 10, "\(count) allocations for \(3 * (samples.count - 400)) samples")
    #expect(manager.gyroData != nil)
  }
}
