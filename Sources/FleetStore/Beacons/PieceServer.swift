internal import Fleet
internal import Positioning
internal import Spatial
internal import Telemetry

/// A selection of the map pieces to send to a vehicle. A value type without I/O.
struct PieceServer {
  private var beacons: [Geohash: [MappedBeacon]]
  /// The encoded pieces of requested cells.
  private var pieces: [Geohash: (version: String, payloads: [[UInt8]])] = [:]
  /// The version of a cell sent to a vehicle, with the time.
  private var sent: [Sent: (version: String, time: Double)] = [:]

  private struct Sent: Hashable {
    var vehicle: VehicleKey
    var cell: Geohash
  }

  /// The seconds for which a repeated request is not answered.
  static let pause = 600.0
  /// The maximum numbers of stored answers, and of encoded cells.
  private static let (mostSent, mostCells) = (200_000, 4096)

  init(_ map: [FleetBeacon]) { beacons = Self.cells(of: map) }

  /// Replaces the map; unchanged cells are not sent again.
  mutating func renew(_ map: [FleetBeacon]) {
    beacons = Self.cells(of: map)
    pieces = [:]
  }

  private static func cells(of map: [FleetBeacon]) -> [Geohash: [MappedBeacon]] {
    Dictionary(
      grouping: map.map(\.place).filter { Geohash($0.coordinate, length: BeaconPiece.cellLength) != nil }
    ) { Geohash($0.coordinate, length: BeaconPiece.cellLength) }.reduce(into: [:]) { cells, group in
      if let cell = group.key { cells[cell] = group.value }
    }
  }

  /// The number of cells with beacons.
  var cellCount: Int { beacons.count }

  /// Returns the payloads to send by cell, without cells that the vehicle already has. A cell without beacons
  /// is answered with an empty piece, so that it is not requested again.
  /// - Parameter now: seconds of any monotonic clock.
  mutating func answer(
    _ wanted: BeaconsWantedMessage, from vehicle: VehicleKey, at now: Double
  ) -> [(cell: Geohash, payloads: [[UInt8]])] {
    var answers: [(cell: Geohash, payloads: [[UInt8]])] = []
    for asked in Set(wanted.cells).sorted(by: { $0.cell < $1.cell }) {
      let ready = ready(asked.cell)
      guard ready.version != asked.version else { continue }
      let key = Sent(vehicle: vehicle, cell: asked.cell)
      if let last = sent[key], last.version == ready.version, now - last.time < Self.pause { continue }
      if sent.count >= Self.mostSent { sent.removeAll() }
      sent[key] = (ready.version, now)
      answers.append((asked.cell, ready.payloads))
    }
    return answers
  }

  private mutating func ready(_ cell: Geohash) -> (version: String, payloads: [[UInt8]]) {
    if let known = pieces[cell] { return known }
    let made = BeaconPiece.pieces(of: cell, beacons[cell] ?? [])
    let ready = (version: made.first?.version ?? "", payloads: made.map(\.payload))
    if pieces.count >= Self.mostCells { pieces.removeAll() }
    pieces[cell] = ready
    return ready
  }
}
