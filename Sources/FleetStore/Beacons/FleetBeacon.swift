package import Fleet
internal import Platform
package import Sensors
internal import Spatial

/// A beacon in the fleet's map.
package struct FleetBeacon: Hashable, Sendable {
  package var place: MappedBeacon
  /// The number of vehicles that agree on the position; 0 for an entry from a geolocation service.
  package var vehicles: Int
  /// The host of the geolocation service; nil for an entry from the fleet's own scans.
  package var service: String?
}

/// The file format of the fleet's map: CSV with a line for each beacon.
package enum FleetMapFile {
  package static let head = earlierHead + ",source"
  /// The header of maps from versions that did not write the column `source`.
  private static let earlierHead = MappedBeacon.columns
  /// The `source` of entries from the fleet's own scans.
  package static let own = "fleet"

  /// The maximum size of a map's file in bytes: about ten million lines.
  private static let largest = 1 << 30

  /// Returns the line of a beacon; the last sighting is in days since 1970.
  package static func line(_ beacon: FleetBeacon) -> String {
    let place = beacon.place
    return
      "\(place.beacon.text),\(fixed(place.coordinate.latitude, 6)),\(fixed(place.coordinate.longitude, 6)),\(Int(place.reach.rounded(.up))),\(place.sightings),\(beacon.vehicles),\(place.lastSeen),\(beacon.service ?? own)"
  }

  /// Reads a map.
  /// - Throws: `FleetError` with the invalid line.
  package static func read(_ path: String) throws(FleetError) -> [FleetBeacon] {
    let bytes: [UInt8]
    do throws(SystemError) { bytes = try AtomicFile.contents(of: path, limit: largest) } catch {
      throw .usage(
        "read", path, "\(SystemError.message(for: error.code)); name a file of odograph beacons build")
    }
    var beacons: [FleetBeacon] = []
    var number = 0
    for line in bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
      number += 1
      let text = String(decoding: line.last == UInt8(ascii: "\r") ? line.dropLast() : line, as: UTF8.self)
      if number == 1 {
        guard text == head || text == earlierHead else {
          throw .usage(
            "read", path, "its first line is not \"\(head)\"; name a file of odograph beacons build")
        }
        continue
      }
      if text.isEmpty { continue }
      guard let beacon = beacon(text) else {
        throw .usage("read", "line \(number) of \(path)", "\"\(text.prefix(80))\" is not a valid beacon")
      }
      beacons.append(beacon)
    }
    return beacons
  }

  private static func beacon(_ line: String) -> FleetBeacon? {
    let words = line.split(separator: ",", omittingEmptySubsequences: false)
    guard let place = MappedBeacon(fields: words), let vehicles = Int(words[5]) else { return nil }
    let source = words.count == 8 ? words[7] : own[...]
    let service = source == own ? nil : String(source)
    // An entry from a geolocation service has no vehicles, and one from the fleet's scans has at least one.
    // The source is a host name or `fleet`.
    guard service == nil ? vehicles > 0 : vehicles == 0,
      (1...260).contains(source.utf8.count), source.utf8.allSatisfy({ (0x21...0x7e).contains($0) })
    else { return nil }
    return FleetBeacon(place: place, vehicles: vehicles, service: service)
  }

  /// Formats a decimal number without an exponent.
  package static func fixed(_ number: Double, _ decimals: Int) -> String {
    let scale = (0..<decimals).reduce(1.0) { scale, _ in scale * 10 }
    let units = Int((abs(number) * scale).rounded())
    let (whole, rest) = units.quotientAndRemainder(dividingBy: Int(scale))
    let digits = String(rest)
    return "\(number < 0 ? "-" : "")\(whole)." + String(repeating: "0", count: decimals - digits.count)
      + digits
  }
}
