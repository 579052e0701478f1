package import Fleet
internal import Sensors
package import Spatial
package import Telemetry

/// A selector of the map parts to send to a vehicle. A value type without I/O.
package struct PieceServer {
  private var beacons: [Geohash: [MappedBeacon]]
  /// The encoded map parts of requested cells, with the version of each cell.
  private var pieces: [Geohash: (version: String, payloads: [[UInt8]])] = [:]
  /// The cell version last sent to a vehicle, and the time at which it was sent.
  private var sent: [Sent: (version: String, time: Double)] = [:]

  private struct Sent: Hashable {
    var vehicle: VehicleKey
    var cell: Geohash
  }

  /// The seconds after an answer during which the same request of a vehicle is not answered again.
  static let pause = 600.0
  /// The maximum numbers of entries in `sent` and in `pieces`.
  private static let (mostSent, mostCells) = (200_000, 4096)

  package init(_ map: [FleetBeacon]) { beacons = Self.cells(of: map) }

  /// Replaces the map. Vehicles are not sent cells that did not change.
  package mutating func renew(_ map: [FleetBeacon]) {
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
  package var cellCount: Int { beacons.count }

  /// Returns the payloads to send, grouped by cell. Cells whose current version the vehicle already has are
  /// omitted. A cell without beacons is answered with an empty part, so that the vehicle does not request it
  /// again.
  /// - Parameter now: seconds of any monotonic clock.
  package mutating func answer(
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
