import Sensors
import Spatial
import TestSupport
import Testing

@testable import Motion

/// Order of merged scans, and independence of the attitude from the order in which blocks arrive.
@Suite struct ScanMergerTests {
  enum Sensor: Int, CaseIterable {
    case gyroscope
    case accelerometer
    case magnetometer

    func scan(at milliseconds: Int) -> InertialScan {
      let value = Vector3(Double(milliseconds), 0, 0)
      var scan = InertialScan(timestamp: Timestamp(nanoseconds: Int64(milliseconds) * 1_000_000))
      switch self {
      case .gyroscope: scan.rotationRate = value
      case .accelerometer: scan.specificForce = value
      case .magnetometer: scan.magneticField = value
      }
      return scan
    }
  }

  /// Adds a block of scans and returns the scans that are output, such as "g10".
  private func give(_ merger: inout ScanMerger, _ block: [InertialScan]) -> String {
    for scan in block { merger.append(scan, []) }
    merger.endBlock()
    var handed: [String] = []
    while let scan = merger.next()?.scan {
      let parts = [("g", scan.rotationRate), ("a", scan.specificForce), ("m", scan.magneticField)]
      let names = parts.filter { $0.1 != nil }.map(\.0).joined()
      for case .some(let value) in parts.map(\.1) {
        #expect(value.x == Double(scan.timestamp.nanoseconds / 1_000_000))
      }
      handed.append("\(names)\(scan.timestamp.nanoseconds / 1_000_000)")
    }
    return handed.joined(separator: " ")
  }

  /// Adds a block of a device with one sensor.
  private func give(_ merger: inout ScanMerger, _ sensor: Sensor, _ times: [Int]) -> String {
    give(&merger, times.map(sensor.scan))
  }

  /// The manager's output for two devices equals that for one chip, independently of the order of their blocks.
  @Test(arguments: [[Sensor.gyroscope, .accelerometer], [.accelerometer, .gyroscope]])
  func twoDevicesAreMergedIntoOne(_ order: [Sensor]) {
    var manager = MotionManager(frame: .xArbitraryZVertical)
    var handed: [InertialScan] = []
    for block in 0..<4 {
      for sensor in order {
        let scans = (0..<25).map { index in
          let value = Vector3(0.001 * Double(25 * block + index), 0, sensor == .gyroscope ? 0 : 9.81)
          var scan = InertialScan(timestamp: Timestamp(nanoseconds: Int64(25 * block + index) * 20_000_000))
          if sensor == .gyroscope { scan.rotationRate = value } else { scan.specificForce = value }
          return scan
        }
        manager.process(scans, ordered: { handed.append($0) })
      }
    }
    // During the first block, the other device is not yet discovered; the last scan waits for samples of the same time.
    handed.removeAll { $0.timestamp.nanoseconds < 500_000_000 }
    #expect(handed.count >= 74)
    for (index, scan) in handed.enumerated() {
      #expect(scan.timestamp.nanoseconds == Int64(25 + index) * 20_000_000)
      #expect(scan.rotationRate?.x == scan.specificForce?.x && scan.rotationRate != nil)
    }
  }

  /// A chip with two sensors beside another device; a block may contain scans that were polled in between.
  @Test func scanStaysComplete() {
    func both(_ times: [Int]) -> [InertialScan] {
      times.map { time in
        var scan = Sensor.gyroscope.scan(at: time)
        scan.specificForce = scan.rotationRate
        return scan
      }
    }
    var merger = ScanMerger()
    #expect(give(&merger, both([0, 10])) == "ga0 ga10")
    #expect(give(&merger, .magnetometer, [5, 15]) == "m5")
    #expect(give(&merger, both([20, 30])) == "m15")
    #expect(give(&merger, [Sensor.magnetometer.scan(at: 40)] + both([40, 35])) == "ga20 ga30 ga35 ga40 m40")
  }

  @Test func sampleWaitsForOthersOfItsTime() {
    var merger = ScanMerger()
    // A sensor without any sample so far is not awaited.
    #expect(give(&merger, .gyroscope, [0, 10]) == "g0 g10")
    #expect(give(&merger, .accelerometer, [0, 10]) == "a0 a10")
    #expect(give(&merger, .accelerometer, [20, 30]) == "")
    #expect(give(&merger, .gyroscope, [20, 30]) == "g20 a20 g30 a30")
    #expect(give(&merger, .gyroscope, [40, 50]) == "")
    // A gyroscope sample precedes other samples of the same time; a sample that another sensor may still precede waits.
    #expect(give(&merger, .accelerometer, [35, 45]) == "a35 g40 a45")
    #expect(give(&merger, .accelerometer, [55]) == "g50")
  }

  @Test func silentSensorIsAwaitedBriefly() {
    var merger = ScanMerger()
    _ = give(&merger, .gyroscope, [0, 10])
    _ = give(&merger, .accelerometer, [0, 10])
    _ = give(&merger, .gyroscope, [20, 30])
    #expect(give(&merger, .accelerometer, [20, 30]) == "g20 a20 g30 a30")
    // Three times the usual 20 ms.
    #expect(give(&merger, .gyroscope, [40, 50, 60, 70, 80]) == "")
    #expect(give(&merger, .gyroscope, [91]) == "g40 g50 g60 g70 g80 g91")
    #expect(give(&merger, .gyroscope, [100]) == "g100")
    // A sample that arrives too late is output immediately.
    #expect(give(&merger, .accelerometer, [40, 50]) == "a40 a50")
  }

  /// A slow separate magnetometer is awaited like the other sensors, with single samples and with blocks.
  @Test func slowMagnetometerIsAwaited() {
    var merger = ScanMerger()
    merger.expect([.gyroscope, .accelerometer, .magnetometer])
    func giveBoth(_ time: Int) -> String {
      let first = give(&merger, .gyroscope, [time])
      let second = give(&merger, .accelerometer, [time])
      return [first, second].filter { !$0.isEmpty }.joined(separator: " ")
    }
    #expect(giveBoth(0) == "")
    #expect(give(&merger, .magnetometer, [0]) == "g0 a0 m0")
    for time in [10, 20, 30, 40, 50] { #expect(giveBoth(time) == "") }
    #expect(give(&merger, .magnetometer, [45]) == "g10 a10 g20 a20 g30 a30 g40 a40 m45")
    #expect(give(&merger, .magnetometer, [50, 60]) == "g50 a50 m50")
    // A magnetometer that has gone silent is not awaited.
    #expect(giveBoth(2100) == "m60 g2100 a2100")
  }

  @Test func longRunLosesNothingAndStaysInOrder() {
    var random = SplitMix.announced()
    var merger = ScanMerger()
    var next = [0, 3, 7]
    var (count, handed) = (0, 0)
    var last = -1.0
    for _ in 0..<3000 {
      let sensor = Sensor.allCases.min { next[$0.rawValue] < next[$1.rawValue] } ?? .gyroscope
      let length = Int.random(in: 2...6, using: &random)
      for _ in 0..<length {
        next[sensor.rawValue] += 10
        merger.append(sensor.scan(at: next[sensor.rawValue]), [])
      }
      merger.endBlock()
      count += length
      while let time = merger.next()?.scan.timestamp.seconds {
        handed += 1
        #expect(time >= last || handed < 30)
        last = time
      }
    }
    #expect(count - handed < 60)
  }

  /// Blocks of 0.05 s, 0.1 s and 1 s, whose sensors arrive in any order.
  @Test(arguments: [10, 20, 200]) func attitudeIsIndependentOfTheBlockOrder(length: Int) {
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

  /// RMS error in degrees from 15 s on.
  private static func error(
    _ samples: [FilterSimulation.Sample], _ blocks: [Range<Int>], _ random: inout SplitMix, shuffled: Bool
  ) -> Double {
    var manager = MotionManager(frame: .xArbitraryCorrectedZVertical)
    let truths = Dictionary(uniqueKeysWithValues: samples.map { ($0.time, $0.truth) })
    var (sum, count) = (0.0, 0.0)
    for block in blocks {
      let part = samples[block]
      for sensor in shuffled ? [0, 1, 2].shuffled(using: &random) : [0, 1, 2] {
        manager.admit(
          part.map { sample in
            var scan = InertialScan(timestamp: sample.time)
            switch sensor {
            case 0: scan.rotationRate = sample.rate
            case 1: scan.specificForce = sample.force
            default: scan.magneticField = sample.field
            }
            return scan
          }
        ) { _ in }
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
