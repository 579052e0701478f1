import Positioning
import Sensors
import Simulation
import Spatial
import TestSupport

/// A beacon map in memory.
struct TableMap: BeaconMap {
  var places: [Beacon: MappedBeacon] = [:]

  func lookUp(_ beacons: [Beacon]) -> [MappedBeacon] { beacons.compactMap { places[$0] } }

  mutating func add(_ place: MappedBeacon) { places[place.beacon] = place }
}

enum Radio {
  static let day = 20_000

  static func accessPoint(_ number: Int) -> Beacon {
    Beacon(accessPoint: 0x0011_2200_0000 + UInt64(number)) ?? lte(number)
  }

  static func lte(_ number: Int) -> Beacon {
    Beacon(.lte, country: 262, network: 1, cell: UInt64(number + 1)) ?? accessPoint(number)
  }

  static func mapped(
    _ beacon: Beacon, _ east: Double, _ north: Double = 0, reach: Double = 60, sightings: Int = 100
  ) -> MappedBeacon {
    MappedBeacon(
      beacon: beacon, coordinate: Place.coordinate(east, north), reach: reach, sightings: sightings,
      lastSeen: day)
  }

  static func scan(_ seconds: Double = 0, _ sightings: [BeaconSighting]) -> RadioScan {
    RadioScan(timestamp: Timestamp(seconds: seconds), sightings: sightings)
  }

  /// Access points around a position at typical distances.
  static func neighbourhood(
    _ count: Int, around east: Double, from first: Int = 0,
    _ random: inout SeededGenerator
  ) -> [MappedBeacon] {
    (0..<count).map {
      mapped(
        accessPoint(first + $0), east + 60 * random.nextNormal(), 60 * random.nextNormal())
    }
  }
}
