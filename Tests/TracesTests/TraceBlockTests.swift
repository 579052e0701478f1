import Sensors
import Simulation
import Spatial
import TestSupport
import Testing
import Traces

/// Round trips of trace blocks, and arbitrary bytes as input.
@Suite struct TraceBlockTests {
  private func time(_ microseconds: Int64) -> Timestamp { Timestamp(nanoseconds: 1000 * microseconds) }

  private func read(_ samples: [TraceSample], resolution: TraceResolution = TraceResolution()) throws
    -> [TraceSample]
  {
    var block = TraceBlock(resolution: resolution)
    let taken = samples.map { block.append($0) }
    #expect(taken.allSatisfy { $0 })
    let again = try #require(TraceBlock(bytes: block.bytes))
    #expect(again.count == samples.count && again.bytes == block.bytes)
    #expect(again.resolution == resolution && again.samples == block.samples)
    return again.samples
  }

  private func fix() -> PositionFix {
    var fix = PositionFix(
      timestamp: time(5_000_000), time: UTCTime(nanoseconds: 1_795_248_000_123_000_000),
      mode: .threeDimensional,
      coordinate: Coordinate(latitude: 48.137431234, longitude: -11.575490001))
    (fix.quality, fix.receiver) = (.realTimeKinematicFloat, "/dev/ttyUSB0")
    (fix.altitudeEllipsoidal, fix.altitudeMeanSeaLevel) = (565.1234, 519.5)
    (fix.speed, fix.course, fix.climb) = (13.889, 359.9999, -0.25)
    (fix.horizontalError, fix.verticalError, fix.speedError, fix.courseError) = (2.4, 4.1, 0.3, 1.2)
    (fix.horizontalDilution, fix.satellitesUsed, fix.satellitesVisible) = (0.9, 9, 0)
    return fix
  }

  @Test func aFixIsReadUnchanged() throws {
    var bare = PositionFix(timestamp: time(6_000_000))
    bare.isHorizontalErrorFromDilution = true
    bare.satellitesVisible = 12
    let reports = [fix(), bare, PositionFix(timestamp: time(7_000_000), mode: .noFix)]
    #expect(try read(reports.map { .fix($0) }) == reports.map { .fix($0) })
  }

  @Test func vehicleReadingsAreReadUnchanged() throws {
    let readings = [
      VehicleReading(timestamp: time(1), path: "Vehicle.Speed", value: .number(53.7), resolution: 0.1),
      VehicleReading(timestamp: time(2), path: "Vehicle.Speed", value: .number(53.8125), resolution: 1 / 256),
      VehicleReading(timestamp: time(3), path: "Vehicle.Speed", value: nil),
      VehicleReading(
        timestamp: time(4), path: "Vehicle.TraveledDistance", value: .number(.pi), origin: .diagnostic),
      VehicleReading(
        timestamp: time(5), path: "Vehicle.Chassis.Brake.IsPressed", value: .flag(true), origin: .derived),
      VehicleReading(timestamp: time(6), path: "Vehicle.Powertrain.Gear", value: .text("Rückwärts")),
      VehicleReading(timestamp: time(7), path: "Vehicle.Powertrain.Gear", value: .text("N")),
    ]
    #expect(try read(readings.map { .vehicle($0) }) == readings.map { .vehicle($0) })
  }

  @Test func motionIsRoundedToItsStep() throws {
    let attitude = Quaternion(rotationVector: Vector3(0.3, -1.2, 2))
    let samples = try read([
      .motion(TraceMotion(timestamp: time(1), attitude: attitude, velocity: Vector3(13.8891, -4.5, 0.0004))),
      .motion(TraceMotion(timestamp: time(2), attitude: attitude)),
    ])
    guard case .motion(let first) = samples[0], case .motion(let second) = samples[1] else {
      Issue.record("no motion")
      return
    }
    #expect(abs(first.attitude.w - attitude.w) < 1e-7 && abs(first.attitude.z - attitude.z) < 1e-7)
    #expect(((first.velocity ?? .zero) - Vector3(13.8891, -4.5, 0.0004)).length < 0.001)
    #expect(second.velocity == nil)
  }

  /// Scans may lack parts. Values that are not finite are omitted, all others are stored.
  @Test func scansKeepTheirParts() throws {
    let step = TraceResolution(specificForce: Vector3(repeating: 0.5), rotationRate: Vector3(repeating: 0.25))
    var scans = [
      InertialScan(timestamp: time(1), specificForce: Vector3(0.5, -1, 9.5)),
      InertialScan(
        timestamp: time(2), specificForce: Vector3(1, 0, 1e9), rotationRate: Vector3(-0.25, 0, 30)),
      InertialScan(timestamp: time(3), magneticField: Vector3(22, -1, 40), temperature: 31.25),
      InertialScan(timestamp: time(4), rotationRate: Vector3(1, 2, 3), temperature: -40),
    ]
    let got = try read(
      scans.map { .inertial($0) } + [.pressure(.init(timestamp: time(5), pressure: 101_325.4))],
      resolution: step)
    #expect(got.count == 5 && got[0] == .inertial(scans[0]) && got[1] == .inertial(scans[1]))
    guard case .inertial(let third) = got[2], case .pressure(let pressure) = got[4] else {
      Issue.record("other kinds")
      return
    }
    #expect(abs((third.temperature ?? 0) - 31.25) < 1e-9 && abs(pressure.pressure - 101_325.4) < 0.05)
    var block = TraceBlock()
    scans[0].specificForce = Vector3(.nan, 0, 0)
    let isRefused = !block.append(.inertial(scans[0]))
    #expect(isRefused && block.count == 0)
    scans[0].rotationRate = Vector3(1, 0, 0)
    let isTaken = block.append(.inertial(scans[0]))
    let isEndless = block.append(.pressure(.init(timestamp: time(1), pressure: .infinity)))
    #expect(isTaken && !isEndless)
  }

  @Test func extremeTimesAreAccepted() throws {
    let ends = [Int64.min, .min + 1, -500, 499, .max - 1, .max]
    let samples = ends.map {
      TraceSample.pressure(.init(timestamp: Timestamp(nanoseconds: $0), pressure: -1e300))
    }
    #expect(try read(samples).count == ends.count)
  }

  @Test func columnsOfAllKindsAreExact() throws {
    var random = SeededGenerator.announced()
    for _ in 0..<300 {
      let count = Int(random.next() % 400)
      let scale = Double(sign: .plus, exponent: Int(random.next() % 64), significand: 1)
      var level: Int64 = 0
      let numbers = (0..<count).map { index -> Int64 in
        switch random.next() % 40 {
        case 0: level = Int64(bitPattern: random.next())
        case 1: return [.min, .max, 0, -1][Int(random.next() % 4)]
        default: break
        }
        return level &+ Int64(max(-9e18, min(9e18, scale * random.nextNormal()))) &+ Int64(index)
      }
      var bytes: [UInt8] = [7]
      ColumnCodec.append(numbers, to: &bytes)
      var place = 1
      #expect(ColumnCodec.read(count, from: bytes, at: &place) == numbers, "seed \(random.seed)")
      #expect(place == bytes.count)
      place = 1
      #expect(count == 0 || ColumnCodec.read(count, from: bytes.dropLast(), at: &place) == nil)
    }
  }

  @Test func arbitraryBytesNeverTrap() {
    var random = SeededGenerator.announced()
    var block = TraceBlock()
    for scan in SimulatedScans(random, seconds: 0.5, noise: 3).scans { block.append(.inertial(scan)) }
    block.append(.fix(fix()))
    block.append(
      .vehicle(.init(timestamp: time(1), path: "Vehicle.Speed", value: .text("x"), resolution: 0.1)))
    block.append(.motion(.init(timestamp: time(1), attitude: .identity, velocity: .zero)))
    let bytes = block.bytes
    for end in stride(from: 0, to: bytes.count, by: 13) {
      #expect(TraceBlock(bytes: Array(bytes[..<end])) == nil)
    }
    for _ in 0..<3000 {
      var damaged = bytes
      for _ in 0...random.next() % 4 {
        // Most of the damage is done to the headers.
        let reach = random.next() % 2 == 0 ? UInt64(bytes.count) : 160
        damaged[Int(random.next() % reach)] = UInt8(truncatingIfNeeded: random.next())
      }
      guard let read = TraceBlock(bytes: damaged) else { continue }
      #expect(read.samples.count <= read.count, "seed \(random.seed)")
    }
  }

  // MARK: Files

  @Test func aTruncatedFileIsReadToItsLastCompleteBlock() throws {
    let head = TraceFile.Head(moment: time(77), utcOffset: -5)
    let blocks: [[UInt8]] = [[1, 2, 3], [], Array(repeating: 9, count: 700)]
    let bytes = blocks.reduce(TraceFile.bytes(head)) { $0 + TraceFile.bytes(block: $1) }
    let whole = try #require(TraceFile(bytes: bytes))
    #expect(whole.head == head && whole.blocks == blocks && whole.lostBytes == 0)
    for end in 0..<bytes.count {
      guard let read = TraceFile(bytes: Array(bytes[..<end])) else {
        #expect(end < 29)
        continue
      }
      #expect(read.blocks == Array(blocks.prefix(read.blocks.count)) && read.blocks.count < 3)
      #expect(read.lostBytes < 708)
    }
    var damaged = bytes
    damaged[60] ^= 4
    #expect(try #require(TraceFile(bytes: damaged)).blocks == Array(blocks.prefix(2)))
    damaged[12] ^= 1
    #expect(TraceFile(bytes: damaged) == nil)
  }
}
