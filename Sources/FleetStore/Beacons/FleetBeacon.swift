internal import Fleet
internal import Platform
internal import Positioning
internal import Sensors
internal import Spatial

/// A transmitter as the fleet's map has it.
struct FleetBeacon: Hashable, Sendable {
  var place: MappedBeacon
  /// Vehicles that agree on it; 0 where a service has told it.
  var vehicles: Int
  /// The host of the service that has told it; nil where the fleet has found it.
  var service: String?
}

/// The fleet's map in a file: CSV, a line for each transmitter.
enum FleetMapFile {
  static let head = earlierHead + ",source"
  /// Of maps in which all was the fleet's own.
  private static let earlierHead = "beacon,latitude,longitude,reach,sightings,vehicles,last_seen"
  /// What `source` says of the fleet's own.
  static let own = "fleet"

  /// Bytes: some ten million lines.
  private static let largest = 1 << 30

  /// Days since 1970 stand for the last time.
  static func line(_ beacon: FleetBeacon) -> String {
    let place = beacon.place
    return
      "\(place.beacon.text),\(fixed(place.coordinate.latitude, 6)),\(fixed(place.coordinate.longitude, 6)),\(Int(place.reach.rounded(.up))),\(place.sightings),\(beacon.vehicles),\(place.lastSeen),\(beacon.service ?? own)"
  }

  /// Reads a map.
  /// - Throws: `FleetError` naming the line that is none.
  static func read(_ path: String) throws(FleetError) -> [FleetBeacon] {
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
        throw .usage("read", "line \(number) of \(path)", "\"\(text.prefix(80))\" is no transmitter")
      }
      beacons.append(beacon)
    }
    return beacons
  }

  private static func beacon(_ line: String) -> FleetBeacon? {
    let words = line.split(separator: ",", omittingEmptySubsequences: false)
    guard words.count == 7 || words.count == 8, let beacon = Beacon(text: words[0]),
      let latitude = Double(words[1]),
      let longitude = Double(words[2]), let reach = Double(words[3]), let sightings = Int(words[4]),
      let vehicles = Int(words[5]), let day = Int(words[6])
    else { return nil }
    let source = words.count == 8 ? words[7] : own[...]
    let service = source == own ? nil : String(source)
    // A service has no vehicles, and the fleet's own some; a name is one of a host.
    guard service == nil ? vehicles > 0 : vehicles == 0,
      (1...260).contains(source.utf8.count), source.utf8.allSatisfy({ (0x21...0x7e).contains($0) })
    else { return nil }
    let place = MappedBeacon(
      beacon: beacon, coordinate: Coordinate(latitude: latitude, longitude: longitude), reach: reach,
      sightings: sightings, lastSeen: day)
    return place.isSound ? FleetBeacon(place: place, vehicles: vehicles, service: service) : nil
  }

  /// A decimal number without an exponent.
  static func fixed(_ number: Double, _ decimals: Int) -> String {
    let scale = (0..<decimals).reduce(1.0) { scale, _ in scale * 10 }
    let units = Int((abs(number) * scale).rounded())
    let (whole, rest) = units.quotientAndRemainder(dividingBy: Int(scale))
    let digits = String(rest)
    return "\(number < 0 ? "-" : "")\(whole)." + String(repeating: "0", count: decimals - digits.count)
      + digits
  }
}
