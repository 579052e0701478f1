package import JSON
package import Spatial
package import Telemetry

/// Selects the cells of the fleet's map to request, and the pieces to accept. A value without I/O.
///
/// Publishers to the vehicle are not trusted. A piece is accepted only if its cell was requested, if the
/// number of pieces per hour is plausible, and if all of it is valid.
package struct WantedBeacons: Sendable {
  /// Versions of the cells that are complete.
  private var versions: [Geohash: String] = [:]
  /// Received pieces of incomplete cells.
  private var partial: [Geohash: (version: String, parts: Set<Int>)] = [:]
  private var refused: [BeaconsWantedMessage.Refusal] = []
  private var told: [BeaconsWantedMessage.Cell]?
  private var lastTold: Timestamp?
  private var taken: (since: Timestamp, counts: [Geohash: Int])?
  /// Requested cells that were dropped for lack of space. They are requested again only after the vehicle has
  /// left them and returned.
  private var lost: Set<Geohash> = []

  /// Distances in m around the vehicle: a cell within `margin` is requested, and remains requested until it
  /// is farther away than `leaving`. The difference avoids alternating requests along a border.
  static let (margin, leaving) = (5000.0, 10_000.0)
  /// Minimum interval in s between two messages, and time in s after which an unanswered request is repeated.
  static let (interval, repetition) = (60.0, 3600.0)
  /// Maximum number of pieces per hour: of one cell (twice the pieces of the largest cell), and of all cells
  /// together (a motorway through a densely populated area).
  package static let (mostOfCell, most) = (2 * BeaconPiece.largestCount, 16 * BeaconPiece.largestCount)

  /// - Parameter versions: versions by cell, with the prefix `BeaconFile.partial` for incomplete ones.
  package init(versions: [String: String]) {
    for (text, version) in versions {
      let isPartial = version.hasPrefix(BeaconFile.partial)
      let version = isPartial ? String(version.dropFirst(BeaconFile.partial.count)) : version
      guard let cell = Geohash(text), BeaconPiece.isVersion(version) else { continue }
      self.versions[cell] = version
      if isPartial { lost.insert(cell) }
    }
  }

  /// Marks all cells as missing after the map was lost.
  mutating func forgetAll() { (versions, partial, lost) = ([:], [:], []) }

  /// Returns the message to publish now; nil for none.
  /// - Parameter place: the position that may be published; nil if unknown or private.
  package mutating func due(at now: Timestamp, place: Coordinate?, time: UTCTime) -> BeaconsWantedMessage? {
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

  /// Returns the cells within `margin`, and those of the last message that are within `leaving`.
  private func around(_ place: Coordinate) -> [Geohash] {
    let near = Geohash.around(place, margin: Self.margin, length: BeaconPiece.cellLength)
    let far = Geohash.around(place, margin: Self.leaving, length: BeaconPiece.cellLength)
    let kept = (told ?? []).map(\.cell).filter { far.contains($0) && !near.contains($0) }
    return (near + kept).prefix(BeaconsWantedMessage.largestCount).sorted()
  }

  /// Marks cells as incomplete.
  package mutating func forget(_ cells: Set<String>) {
    for cell in cells.compactMap({ Geohash($0) }) {
      if told?.contains(where: { $0.cell == cell }) ?? false {
        lost.insert(cell)
      } else {
        versions[cell] = nil
      }
    }
  }

  /// Validates and accepts a piece.
  /// - Throws: `JSONError` with the reason for a rejection, which is also published with the next message.
  /// - Returns: the piece, and whether it completes its cell; nil if it is already present.
  package mutating func accept(
    _ payload: [UInt8], at now: Timestamp
  ) throws(JSONError) -> (piece: BeaconPiece, isLast: Bool)? {
    do throws(JSONError) {
      let piece = try BeaconPiece(payload: payload)
      guard told?.contains(where: { $0.cell == piece.cell }) ?? false else {
        throw JSONError("cell \(piece.cell) was not requested")
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
      let text = (try? JSONValue(parsing: Array(payload.prefix(BeaconPiece.sizeLimit))))?["cell"]?.string
      let cell = Geohash(text ?? "").map { String($0.text.prefix(BeaconPiece.cellLength)) } ?? ""
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
