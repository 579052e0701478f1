import Foundation
import Positioning
import Sensors
import Simulation
import Spatial

/// Parameters of the simulated city.
struct CityModel {
  var beacons = 20_000
  /// Metres: the median distance at which the signal of a beacon drops to the sensitivity of the radio.
  var range = 100.0
  /// Standard deviation in dB of the shadowing by obstacles, constant at each position.
  var shadowing = 6.0
  /// Shares of beacons that move between learning and use, and of those that always travel.
  var (moved, travelling) = (0.10, 0.03)
}

/// Access points around a drive, and the sightings of a radio. The model is independent of the locator: path loss exponents and ranges
/// differ between beacons, and shadowing by walls is constant.
struct City {
  private struct AccessPoint {
    var beacon: Beacon
    var place: SIMD2<Double>
    /// Position when the map is used.
    var laterPlace: SIMD2<Double>
    /// Range in metres, and exponent of the path loss.
    var (range, exponent): (Double, Double)
    var isTravelling: Bool
  }

  /// Weakest received signal in dBm, and standard deviation in dB of the variation between scans.
  private static let (sensitivity, fading) = (-90.0, 3.0)
  /// Metres: margin around the drive, size of a cell of the index, size of a cell of constant shadowing.
  private static let (margin, cell, shadow) = (250.0, 400.0, 25.0)
  /// Seconds that a travelling beacon remains at a position, and duration of a scan.
  private static let (stay, scanTime) = (60.0, 3.0)
  /// Share of a beacon's frames that are received within its range.
  private static let received = 0.9

  let areaInSquareKilometres: Double
  private let model: CityModel
  private let seed: UInt64
  private let (low, high): (SIMD2<Double>, SIMD2<Double>)
  private var points: [AccessPoint] = []
  private var index: [SIMD2<Int32>: [Int]] = [:]
  private var laterIndex: [SIMD2<Int32>: [Int]] = [:]
  private var travellers: [Int] = []

  init(around drive: Drive, _ model: CityModel, seed: UInt64) {
    self.model = model
    self.seed = seed
    let margin = SIMD2(repeating: Self.margin)
    low = drive.points.reduce(SIMD2(repeating: .infinity)) { pointwiseMin($0, $1.place) } - margin
    high = drive.points.reduce(SIMD2(repeating: -.infinity)) { pointwiseMax($0, $1.place) } + margin
    areaInSquareKilometres = (high - low).x * (high - low).y / 1e6
    var random = SeededGenerator(seed: seed, stream: 1)
    for number in 0..<model.beacons {
      guard let beacon = Beacon(accessPoint: 0x0011_0000_0000 + UInt64(number)) else { continue }
      let place = Self.anywhere(low, high, &random)
      let fate = random.nextUniform()
      let isTravelling = fate < model.travelling
      let hasMoved = fate >= model.travelling && fate < model.travelling + model.moved
      points.append(
        AccessPoint(
          beacon: beacon, place: place, laterPlace: hasMoved ? Self.anywhere(low, high, &random) : place,
          range: model.range * exp(0.3 * random.nextNormal()), exponent: 2.7 + 0.8 * random.nextUniform(),
          isTravelling: isTravelling))
      if isTravelling {
        travellers.append(number)
      } else {
        index[Self.cell(of: place), default: []].append(number)
        laterIndex[Self.cell(of: points[number].laterPlace), default: []].append(number)
      }
    }
  }

  /// A map with the exact positions of the given beacons at the time of use; their ranges are unknown to it.
  func exactMap(of beacons: Set<Beacon>, in frame: LocalFrame, day: Int) -> BeaconTable {
    var table = BeaconTable()
    for point in points where !point.isTravelling && beacons.contains(point.beacon) {
      table.learned[point.beacon] = LearnedBeacon(
        MappedBeacon(
          beacon: point.beacon, coordinate: frame.coordinate(at: point.laterPlace), reach: 60,
          sightings: 1000,
          lastSeen: day))
    }
    return table
  }

  private static func anywhere(
    _ low: SIMD2<Double>, _ high: SIMD2<Double>, _ random: inout SeededGenerator
  ) -> SIMD2<Double> {
    low + (high - low) * SIMD2(random.nextUniform(), random.nextUniform())
  }

  private static func cell(of place: SIMD2<Double>) -> SIMD2<Int32> {
    SIMD2(Int32((place.x / cell).rounded(.down)), Int32((place.y / cell).rounded(.down)))
  }

  /// Simulates a scan that ends at a time of a drive.
  /// - Parameter isLater: true after the beacons that move between learning and use have moved.
  func scan(at time: Double, of drive: Drive, isLater: Bool, _ random: inout SeededGenerator) -> RadioScan {
    let middle = Self.cell(of: drive.place(at: time))
    var near = travellers
    for east in -2...2 {
      for north in -2...2 {
        near += (isLater ? laterIndex : index)[middle &+ SIMD2(Int32(east), Int32(north))] ?? []
      }
    }
    var sightings: [BeaconSighting] = []
    for number in near {
      let age = Self.scanTime * random.nextUniform()
      let (fading, luck) = (Self.fading * random.nextNormal(), random.nextUniform())
      guard luck < Self.received else { continue }
      let vehicle = drive.place(at: time - age)
      let point = points[number]
      let place = self.place(of: number, at: time, isLater: isLater, vehicle: vehicle)
      let offset = vehicle - place
      let distance = max(3, (offset * offset).sum().squareRoot())
      let loss = 10 * point.exponent * log10(distance / point.range)
      let signal = Self.sensitivity - loss + model.shadowing * shadow(number, at: vehicle) + fading
      if signal >= Self.sensitivity {
        sightings.append(BeaconSighting(beacon: point.beacon, signal: min(-30, signal.rounded()), age: age))
      }
    }
    return RadioScan(timestamp: Timestamp(seconds: time), sightings: sightings)
  }

  /// The first travelling beacon is inside the vehicle.
  private func place(
    of number: Int, at time: Double, isLater: Bool, vehicle: SIMD2<Double>
  ) -> SIMD2<Double> {
    guard points[number].isTravelling else {
      return isLater ? points[number].laterPlace : points[number].place
    }
    if number == travellers.first { return vehicle + SIMD2(4, 0) }
    let stay = UInt64(time / Self.stay) &+ (isLater ? 1 << 32 : 0)
    var random = SeededGenerator(seed: seed ^ UInt64(number) << 20, stream: stay)
    return Self.anywhere(low, high, &random)
  }

  /// A normally distributed value that is constant for each position.
  private func shadow(_ number: Int, at place: SIMD2<Double>) -> Double {
    let (east, north) = (Int64((place.x / Self.shadow).rounded()), Int64((place.y / Self.shadow).rounded()))
    let here = UInt64(bitPattern: east &* 1_000_003 &+ north)
    var random = SeededGenerator(seed: seed &+ UInt64(number) &* 0x9E37_79B9, stream: here)
    return random.nextNormal()
  }
}
