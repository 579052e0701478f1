internal import Bytes
internal import JSON
internal import Sensors
internal import Spatial
internal import Telemetry

/// A query for the position of a scan, with the fleet's own knowledge about it.
struct GeolocateQuestion: Hashable, Sendable {
  /// The sightings sent to the service, sorted by identity: at least two access points, or a cell. No names,
  /// vehicle, time or position.
  let sightings: [BeaconSighting]
  /// The beacons whose position is wanted.
  let unknown: Set<Beacon>
  /// The position of the scan, from a simultaneous fix.
  let place: Coordinate
  /// The 68 % radius in m.
  let accuracy: Double
  /// Days since 1970.
  let day: Int

  /// Creates a query.
  ///
  /// - Parameters:
  ///   - isTold: returns whether a beacon may be sent to the service; moving ones may not.
  ///   - isUnknown: returns whether a beacon is missing in the map.
  /// - Returns: nil for a scan that no service could locate, or that contains nothing new.
  init?(_ scan: ScanMessage.Scan, isTold: (Beacon) -> Bool, isUnknown: (Beacon) -> Bool) {
    let told = scan.sightings.filter { isTold($0.beacon) }
    // Services do not locate a single access point, which could belong to a person.
    let points = told.count { !$0.beacon.technology.isCell }
    sightings = points >= 2 ? told : told.filter(\.beacon.technology.isCell)
    unknown = Set(sightings.map(\.beacon).filter(isUnknown))
    guard !unknown.isEmpty else { return nil }
    (place, accuracy) = (scan.coordinate, scan.accuracy)
    day = Int(scan.time.nanoseconds / 86_400_000_000_000)
  }

  /// A hash of the beacons; signal strengths are ignored, so that the same place is not queried again.
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
        json.key("wifiAccessPoints")
        json.openArray()
        for point in points {
          json.openObject()
          json.field("macAddress", point.beacon.text)
          json.field("signalStrength", point.signal.map { Int($0.rounded()) })
          json.closeObject()
        }
        json.closeArray()
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
