internal import Bytes
internal import JSON
internal import Sensors
internal import Spatial
internal import Telemetry

/// A query for the position of a scan, with the fleet's own data about the scan.
struct GeolocateQuestion: Hashable, Sendable {
  /// The sightings sent to the service, sorted by beacon: at least two access points, or a cell. The query
  /// has no names, vehicle, time or position.
  let sightings: [BeaconSighting]
  /// The beacons of the scan that the map does not contain.
  let unknown: Set<Beacon>
  /// The position of the vehicle at the scan, from a GNSS fix.
  let place: Coordinate
  /// The 68 % radius of `place` in m.
  let accuracy: Double
  /// The day of the scan in days since 1970.
  let day: Int

  /// Creates a query.
  ///
  /// - Parameters:
  ///   - scan: the received beacons and the vehicle's position.
  ///   - isTold: returns whether a beacon may be sent to the service; false for moving beacons.
  ///   - isUnknown: returns whether the map lacks a beacon.
  /// - Returns: nil for a scan that no service can locate, or that contains no beacon missing in the map.
  init?(_ scan: ScanMessage.Scan, isTold: (Beacon) -> Bool, isUnknown: (Beacon) -> Bool) {
    let told = scan.sightings.filter { isTold($0.beacon) }
    // A single access point is not sent: services do not locate it, and it can belong to a person.
    let points = told.count { !$0.beacon.technology.isCell }
    sightings = points >= 2 ? told : told.filter(\.beacon.technology.isCell)
    unknown = Set(sightings.map(\.beacon).filter(isUnknown))
    guard !unknown.isEmpty else { return nil }
    (place, accuracy) = (scan.coordinate, scan.accuracy)
    day = Int(scan.time.nanoseconds / 86_400_000_000_000)
  }

  /// A hash of the query's beacons, used as the cache key. Signal strengths are not included, so that the
  /// cached answer is used for every scan of the same beacons.
  var key: Int64 {
    var bytes: [UInt8] = []
    for sighting in sightings { bytes.append(little: sighting.beacon.rawValue) }
    return Int64(bitPattern: FNV1a.hash64(bytes))
  }

  /// The body of the request in Ichnaea's format, without a fallback to the location of the IP address.
  var body: [UInt8] {
    let points = sightings.filter { !$0.beacon.technology.isCell }
    let cells = sightings.filter(\.beacon.technology.isCell)
    return JSONWriter.object { json in
      json.field("considerIp", false)
      json.field("fallbacks") { $0.field("ipf", false) }
      if !points.isEmpty {
        json.field("wifiAccessPoints", objects: points) { json, point in
          json.field("macAddress", point.beacon.text)
          json.field("signalStrength", point.signal.map { Int($0.rounded()) })
        }
      }
      if !cells.isEmpty {
        json.key("cellTowers")
        json.openArray()
        for cell in cells { Self.write(cell, to: &json) }
        json.closeArray()
      }
    }
  }

  private static func write(_ cell: BeaconSighting, to json: inout JSONWriter) {
    let number = cell.beacon.rawValue & (1 << 40 - 1)
    let isGSM = cell.beacon.technology == .gsm
    json.openObject()
    json.field("radioType", radioType(cell.beacon.technology))
    json.field("mobileCountryCode", cell.beacon.rawValue >> 50 & 0x3ff)
    json.field("mobileNetworkCode", cell.beacon.rawValue >> 40 & 0x3ff)
    if isGSM { json.field("locationAreaCode", number >> 16) }
    json.field("cellId", isGSM ? number & 0xffff : number)
    json.field("signalStrength", cell.signal.map { Int($0.rounded()) })
    json.closeObject()
  }

  private static func radioType(_ technology: Beacon.Technology) -> String {
    switch technology {
    case .wifi: "wifi"
    case .gsm: "gsm"
    case .umts: "wcdma"
    case .lte: "lte"
    case .nr: "nr"
    }
  }
}
