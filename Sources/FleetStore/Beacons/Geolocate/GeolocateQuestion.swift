internal import Bytes
internal import JSON
internal import Sensors
internal import Spatial
internal import Telemetry

/// A scan of which a service is asked where it was made, and what the fleet knows of that itself.
struct GeolocateQuestion: Hashable, Sendable {
  /// What the service is told, in the order of identities: at least two access points, or a cell. No names, no vehicle, no time, no place.
  let sightings: [BeaconSighting]
  /// Of them, what the answer is for.
  let unknown: Set<Beacon>
  /// The place where it was made: the fix beside it.
  let place: Coordinate
  /// Metres at 68 %.
  let accuracy: Double
  /// Days since 1970.
  let day: Int

  /// - Parameters:
  ///   - isTold: of which beacons the service may be told: not of those that travel.
  ///   - isUnknown: which of these the map does not have.
  /// - Returns: nil for a scan that no service could place, or that would tell nothing new.
  init?(_ scan: ScanMessage.Scan, isTold: (Beacon) -> Bool, isUnknown: (Beacon) -> Bool) {
    let told = scan.sightings.filter { isTold($0.beacon) }
    // One access point has no place that a service would tell: it could be a person's.
    let points = told.count { !$0.beacon.technology.isCell }
    sightings = points >= 2 ? told : told.filter(\.beacon.technology.isCell)
    unknown = Set(sightings.map(\.beacon).filter(isUnknown))
    guard !unknown.isEmpty else { return nil }
    (place, accuracy) = (scan.coordinate, scan.accuracy)
    day = Int(scan.time.nanoseconds / 86_400_000_000_000)
  }

  /// Names what is asked; signals do not count, so that the same place is not asked for again.
  var key: Int64 {
    var bytes: [UInt8] = []
    for sighting in sightings { bytes.append(little: sighting.beacon.rawValue) }
    return Int64(bitPattern: FNV1a.hash64(bytes))
  }

  /// The body of the request, as Ichnaea has it. The service is told not to guess by the address that it is asked from.
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
