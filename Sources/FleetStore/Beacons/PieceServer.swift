internal import Fleet
internal import Positioning
internal import Spatial
internal import Telemetry

/// Decides which pieces of the fleet's map go to a vehicle that asks. A value without I/O.
struct PieceServer {
  private var beacons: [Geohash: [MappedBeacon]]
  /// Of cells that were asked for.
  private var pieces: [Geohash: (version: String, payloads: [[UInt8]])] = [:]
  /// When which version of a cell was sent to a vehicle.
  private var sent: [Sent: (version: String, time: Double)] = [:]

  private struct Sent: Hashable {
    var vehicle: VehicleKey
    var cell: Geohash
  }

  /// Seconds for which a vehicle that asks for the same again is not answered.
  static let pause = 600.0
  /// Answers that are remembered, and cells that are kept ready.
  private static let (mostSent, mostCells) = (200_000, 4096)

  init(_ map: [FleetBeacon]) { beacons = Self.cells(of: map) }

  /// Takes another map; cells that are the same in it are not sent again.
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

  /// Cells of which something is known.
  var cellCount: Int { beacons.count }

  /// The payloads to send, by cells: nothing of cells that the vehicle has as they are. A cell of which nothing is known is answered with a
  /// piece without beacons, so that nobody asks for it again.
  /// - Parameter now: seconds, of any clock that does not go back.
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
