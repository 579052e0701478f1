import Glibc
import Spatial
import TestSupport
import Testing

@testable import Navigation

/// Trips of a receiver that sleeps periodically, without accelerometer and ignition signal.
@Suite struct SleepingReceiverTests {
  private struct Cycle {
    /// Duration of each sleep and of the time awake after it, s.
    var asleep: Int
    var awake: Int
    /// Start of the first sleep, s.
    var phase: Int
  }

  /// Drives ten minutes at `speed` (m/s), stops for `stop` seconds, and drives another ten minutes.
  /// - Returns: the ended trips.
  private func trips(stop: Int, speed: Double, _ cycle: Cycle) -> [TripRecord] {
    var odometer = Odometer()
    var recorder = TripRecorder(TripState(series: 7))
    var records: [TripRecord] = []
    var (now, v, place) = (0, 0.0, 0.0)
    func second(target: Double) {
      now += 1
      v += max(-2.5, min(1.5, target - v))
      place += v
      let timestamp = Timestamp(seconds: Double(now))
      let time = UTCTime(nanoseconds: 1_790_000_000_000_000_000).advanced(bySeconds: Double(now))
      let period = cycle.asleep + cycle.awake
      if now < cycle.phase || (now - cycle.phase) % period >= cycle.asleep {
        let coordinate = LocalFrame(origin: Coordinate(latitude: 48, longitude: 11)).coordinate(
          at: SIMD2(0, place))
        odometer.process(
          OdometerSample(
            timestamp: timestamp, time: time, coordinate: coordinate, accuracy: 4, speed: v, course: 0))
        recorder.process(
          TripSample(
            timestamp: timestamp, time: time, isLocated: true, coordinate: coordinate, accuracy: 4, speed: v,
            distance: odometer.distance, estimated: odometer.estimated))
      }
      recorder.advance(to: timestamp)
      records += recorder.drain()
    }
    for _ in 0..<120 { second(target: 0) }
    for _ in 0..<600 { second(target: speed) }
    while v > 0 { second(target: 0) }
    for _ in 0..<stop { second(target: 0) }
    for _ in 0..<600 { second(target: speed) }
    for _ in 0..<1500 { second(target: 0) }
    return records.filter { $0.phase == .ended }
  }

  /// A stop of four minutes never divides a trip, and a stop of twenty minutes always does, independently of the phase of the sleeps.
  @Test(arguments: [30, 60, 90, 120, 180, 300], [(240, 1), (1200, 2)])
  func stopDividesTripsByItsLengthOnly(asleep: Int, _ stop: (seconds: Int, trips: Int)) {
    for speed in [2.0, 5, 15, 25] {
      for awake in [2, 20] {
        for phase in stride(from: 150, to: 150 + asleep + awake, by: 19) {
          let ended = trips(
            stop: stop.seconds, speed: speed, Cycle(asleep: asleep, awake: awake, phase: phase))
          #expect(ended.count == stop.trips, "\(speed) m/s, awake \(awake) s, phase \(phase) s")
        }
      }
    }
  }

  /// A city drive at 5 m/s or more is not divided by sleeps of ten minutes.
  @Test func tenMinutesOfSleepDoNotDivideATrip() {
    for speed in [5.0, 10] {
      for phase in stride(from: 150, to: 750, by: 60) {
        let ended = trips(stop: 240, speed: speed, Cycle(asleep: 600, awake: 5, phase: phase))
        #expect(ended.count == 1, "\(speed) m/s, phase \(phase) s")
      }
    }
  }
}
