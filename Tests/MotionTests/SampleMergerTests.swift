import Sensors
import Spatial
import TestSupport
import Testing

@testable import Motion

/// Whose turn it is, and that the order in which blocks arrive does not change the attitude.
@Suite struct SampleMergerTests {
  /// Hands over a block of times in ms, and returns what may go now, as in "g10".
  private func give(_ merger: inout SampleMerger, _ sensor: SampleMerger.Sensor, _ times: [Int]) -> String {
    for time in times {
      merger.append(
        Vector3(Double(time), 0, 0), of: sensor, at: Timestamp(nanoseconds: Int64(time) * 1_000_000))
    }
    merger.endBlock(of: sensor)
    var handed: [String] = []
    while let sample = merger.next() {
      #expect(sample.value.x == Double(sample.time.nanoseconds / 1_000_000))
      handed.append("\("\(sample.sensor)".prefix(1))\(Int(sample.value.x.rounded()))")
    }
    return handed.joined(separator: " ")
  }

  @Test func aSampleWaitsForTheOthersOfItsTime() {
    var merger = SampleMerger()
    // Who has never spoken is not waited for.
    #expect(give(&merger, .gyroscope, [0, 10]) == "g0 g10")
    #expect(give(&merger, .accelerometer, [0, 10]) == "a0 a10")
    #expect(give(&merger, .accelerometer, [20, 30]) == "")
    #expect(give(&merger, .gyroscope, [20, 30]) == "g20 a20 g30 a30")
    #expect(give(&merger, .gyroscope, [40, 50]) == "")
    // A gyroscope's sample of the same time goes first, and what the other has yet to follow waits.
    #expect(give(&merger, .accelerometer, [35, 45]) == "a35 g40 a45")
    #expect(give(&merger, .accelerometer, [55]) == "g50")
  }

  @Test func whoIsSilentIsNotWaitedForLong() {
    var merger = SampleMerger()
    _ = give(&merger, .gyroscope, [0, 10])
    _ = give(&merger, .accelerometer, [0, 10])
    _ = give(&merger, .gyroscope, [20, 30])
    #expect(give(&merger, .accelerometer, [20, 30]) == "g20 a20 g30 a30")
    // Three times its usual 20 ms.
    #expect(give(&merger, .gyroscope, [40, 50, 60, 70, 80]) == "")
    #expect(give(&merger, .gyroscope, [91]) == "g40 g50 g60 g70 g80 g91")
    #expect(give(&merger, .gyroscope, [100]) == "g100")
    // What comes too late goes at once.
    #expect(give(&merger, .accelerometer, [40, 50]) == "a40 a50")
  }

  @Test func aSlowMagnetometerHoldsNothingUp() {
    var merger = SampleMerger()
    _ = give(&merger, .gyroscope, [0])
    _ = give(&merger, .accelerometer, [0])
    #expect(give(&merger, .magnetometer, [0]) == "m0")
    for time in [10, 20, 30, 40, 50] {
      #expect(give(&merger, .gyroscope, [time]) == "")
      #expect(give(&merger, .accelerometer, [time]) == "g\(time) a\(time)")
    }
    #expect(give(&merger, .magnetometer, [45]) == "m45")
    // In blocks it belongs to those that are waited for.
    #expect(give(&merger, .magnetometer, [50, 60]) == "m50")
    #expect(give(&merger, .gyroscope, [60, 70]) == "")
    #expect(give(&merger, .accelerometer, [60, 70]) == "g60 a60 m60")
    #expect(give(&merger, .magnetometer, [70, 80]) == "g70 a70 m70")
  }

  @Test func inALongRunNothingIsLostOrOutOfOrder() {
    var random = SplitMix.announced()
    var merger = SampleMerger()
    var next = [0, 3, 7]
    var (count, handed) = (0, 0)
    var last = -1.0
    for _ in 0..<3000 {
      let sensor = SampleMerger.Sensor.allCases.min { next[$0.rawValue] < next[$1.rawValue] } ?? .gyroscope
      let length = Int.random(in: 2...6, using: &random)
      for _ in 0..<length {
        next[sensor.rawValue] += 10
        merger.append(
          .zero, of: sensor, at: Timestamp(nanoseconds: Int64(next[sensor.rawValue]) * 1_000_000))
      }
      merger.endBlock(of: sensor)
      count += length
      while let sample = merger.next() {
        handed += 1
        #expect(sample.time.seconds >= last || handed < 30)
        last = sample.time.seconds
      }
    }
    #expect(count - handed < 60)
  }

  /// Blocks of a tenth of a second and of a second, each sensor's at times of its own, arriving in any order.
  @Test(arguments: [10, 20, 200]) func theOrderOfBlocksDoesNotChangeTheAttitude(length: Int) {
    var random = SplitMix.announced()
    var simulation = FilterSimulation(seed: 5)
    simulation.rotation = 3
    let samples = simulation.samples(60)
    let direct = Self.error(samples, Array(samples.indices.map { $0..<$0 + 1 }), &random, shuffled: false)
    let starts = stride(from: 0, to: samples.count, by: length)
    let blocks = starts.map { $0..<min($0 + length, samples.count) }
    let inBlocks = Self.error(samples, blocks, &random, shuffled: true)
    #expect(direct < 1.5)
    #expect(inBlocks < direct + 0.1)
  }

  /// Degrees RMS from 15 s on.
  private static func error(
    _ samples: [FilterSimulation.Sample], _ blocks: [Range<Int>], _ random: inout SplitMix, shuffled: Bool
  ) -> Double {
    var manager = MotionManager(frame: .xArbitraryCorrectedZVertical)
    let truths = Dictionary(uniqueKeysWithValues: samples.map { ($0.time, $0.truth) })
    var (sum, count) = (0.0, 0.0)
    for block in blocks {
      let part = samples[block]
      for sensor in shuffled ? [0, 1, 2].shuffled(using: &random) : [0, 1, 2] {
        switch sensor {
        case 0: manager.take(part.map { GyroData(timestamp: $0.time, rotationRate: $0.rate) }) { _ in }
        case 1:
          manager.take(part.map { AccelerometerData(timestamp: $0.time, specificForce: $0.force) }) { _ in }
        default:
          manager.take(part.map { MagnetometerData(timestamp: $0.time, magneticField: $0.field) }) { _ in }
        }
        manager.fuse { motion in
          guard let attitude = motion.attitude, let truth = truths[motion.timestamp],
            motion.timestamp.seconds(since: samples[0].time) > 15
          else { return }
          let angle = (attitude.quaternion * truth.conjugate).angle.degrees
          sum += angle * angle
          count += 1
        }
      }
    }
    return (sum / max(1, count)).squareRoot()
  }
}
