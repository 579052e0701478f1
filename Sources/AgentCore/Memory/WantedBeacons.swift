internal import JSON
internal import Spatial
internal import Telemetry

/// Decides which cells of the fleet's map are wanted, and which pieces are taken. A value without I/O.
///
/// Whoever may publish to the vehicle may lie. So a piece is taken only of a cell that was asked for, only as many of them an hour as the
/// cells around can have, and only when all of it is as it should be.
struct WantedBeacons: Sendable {
  /// By cells, of those that are here as a whole.
  private var versions: [Geohash: String] = [:]
  /// What has come of cells that are not.
  private var partial: [Geohash: (version: String, parts: Set<Int>)] = [:]
  private var refused: [BeaconsWantedMessage.Refusal] = []
  private var told: [BeaconsWantedMessage.Cell]?
  private var lastTold: Timestamp?
  private var taken: (since: Timestamp, counts: [Geohash: Int])?
  /// Cells that are asked for and had to make room: asked for again when the vehicle comes back, not over and over.
  private var lost: Set<Geohash> = []

  /// Metres around the vehicle that the cells cover, and those from which on a cell is left again: along a border none comes and goes.
  static let (margin, leaving) = (5000.0, 10_000.0)
  /// Seconds between two messages, and those after which one that nobody answered is told again.
  static let (interval, repetition) = (60.0, 3600.0)
  /// Pieces that are taken an hour of one cell, which is twice all of it, and of all together: on a motorway through dense country.
  static let (mostOfCell, most) = (2 * BeaconPiece.largestCount, 16 * BeaconPiece.largestCount)

  /// - Parameter versions: by cells, with `BeaconFile.partial` of those of which something had to make room.
  init(versions: [String: String]) {
    for (text, version) in versions {
      let isPartial = version.hasPrefix(BeaconFile.partial)
      let version = isPartial ? String(version.dropFirst(BeaconFile.partial.count)) : version
      guard let cell = Geohash(text), BeaconPiece.isVersion(version) else { continue }
      self.versions[cell] = version
      if isPartial { lost.insert(cell) }
    }
  }

  /// Nothing of the fleet's map is here any more.
  mutating func forgetAll() { (versions, partial, lost) = ([:], [:], []) }

  /// What is to be told now; nil for nothing.
  /// - Parameter place: where the vehicle may say that it is; nil where it may not, or does not know.
  mutating func due(at now: Timestamp, place: Coordinate?, time: UTCTime) -> BeaconsWantedMessage? {
    let age = lastTold.map { now.seconds(since: $0) } ?? .infinity
    guard let place, age >= Self.interval else { return nil }
    let around = around(place)
    for cell in lost.subtracting(around) { versions[cell] = nil }
    lost.formIntersection(around)
    let cells = around.map { BeaconsWantedMessage.Cell($0, version: versions[$0]) }
    let isUnanswered = age >= Self.repetition && cells.contains { $0.version == nil }
    guard cells != told || !refused.isEmpty || isUnanswered else { return nil }
    defer { (told, lastTold, refused) = (cells, now, []) }
    return BeaconsWantedMessage(time: time, cells: cells, refused: refused)
  }

  /// The cells that are near, and those of the last message that are not far yet.
  private func around(_ place: Coordinate) -> [Geohash] {
    let near = Geohash.around(place, margin: Self.margin, length: BeaconPiece.cellLength)
    let far = Geohash.around(place, margin: Self.leaving, length: BeaconPiece.cellLength)
    let kept = (told ?? []).map(\.cell).filter { far.contains($0) && !near.contains($0) }
    return (near + kept).prefix(BeaconsWantedMessage.largestCount).sorted()
  }

  /// Something of these cells had to make room.
  mutating func forget(_ cells: Set<String>) {
    for cell in cells.compactMap({ Geohash($0) }) {
      if told?.contains(where: { $0.cell == cell }) ?? false {
        lost.insert(cell)
      } else {
        versions[cell] = nil
      }
    }
  }

  /// What a piece says that may be believed.
  /// - Throws: `JSONError` with the reason for which it is not taken; it is told with the next message, too.
  /// - Returns: the piece, and whether its cell is here as a whole with it; nil for one that is here already.
  mutating func accept(
    _ payload: [UInt8], at now: Timestamp
  ) throws(JSONError) -> (piece: BeaconPiece, isLast: Bool)? {
    do throws(JSONError) {
      let piece = try BeaconPiece(payload: payload)
      guard told?.contains(where: { $0.cell == piece.cell }) ?? false else {
        throw JSONError("cell \(piece.cell) was not asked for")
      }
      guard versions[piece.cell] != piece.version else { return nil }
      var known = partial[piece.cell].flatMap { $0.version == piece.version ? $0.parts : nil } ?? []
      guard known.insert(piece.part).inserted else { return nil }
      try count(piece.cell, at: now)
      let isLast = known.count == piece.count
      partial[piece.cell] = isLast ? nil : (piece.version, known)
      if isLast { versions[piece.cell] = piece.version }
      return (piece, isLast)
    } catch {
      let said = (try? JSONValue(parsing: Array(payload.prefix(BeaconPiece.sizeLimit))))?["cell"]?.string
      let cell = Geohash(said ?? "").map { String($0.text.prefix(BeaconPiece.cellLength)) } ?? ""
      refused.append(BeaconsWantedMessage.Refusal(cell: cell, reason: error.description))
      refused = Array(refused.suffix(BeaconsWantedMessage.largestCount))
      throw error
    }
  }

  private mutating func count(_ cell: Geohash, at now: Timestamp) throws(JSONError) {
    var hour = taken ?? (now, [:])
    if now.seconds(since: hour.since) >= 3600 { hour = (now, [:]) }
    guard hour.counts[cell, default: 0] < Self.mostOfCell else {
      throw JSONError("more than \(Self.mostOfCell) pieces of cell \(cell) within an hour")
    }
    guard hour.counts.values.reduce(0, +) < Self.most else {
      throw JSONError("more than \(Self.most) pieces within an hour")
    }
    hour.counts[cell, default: 0] += 1
    taken = hour
  }
}
