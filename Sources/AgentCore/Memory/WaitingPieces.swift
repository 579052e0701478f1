internal import Positioning
internal import Sensors

/// Pieces of the fleet's map that are not in the file yet. They are written together with learned beacons to
/// save writes.
package struct WaitingPieces: Sendable {
  /// Pieces with beacons in order of their identities; the newest last.
  private var pieces: [[MappedBeacon]] = []
  /// Versions of the cells that are complete as soon as the waiting pieces are written.
  private(set) var versions: [String: String] = [:]

  /// True if a piece was dropped. No cell is then marked as complete, because the cells of the dropped piece
  /// are unknown.
  private var isSpoiled = false

  /// Maximum number of waiting pieces, of about 150 kB each.
  static let most = 8

  var isEmpty: Bool { pieces.isEmpty && versions.isEmpty }
  var isFull: Bool { pieces.count >= Self.most }

  /// - Parameter piece: beacons in order of their identities, without duplicates.
  mutating func append(_ piece: [MappedBeacon]) {
    // If the disk is not writable, the oldest piece is dropped.
    if isFull {
      pieces.removeFirst()
      (versions, isSpoiled) = ([:], true)
    }
    pieces.append(piece)
  }

  mutating func setVersion(_ version: String, of cell: String) {
    if !isSpoiled { versions[cell] = version }
  }

  /// Returns the newest entry of a beacon.
  subscript(beacon: Beacon) -> MappedBeacon? {
    for piece in pieces.reversed() {
      var (low, high) = (0, piece.count)
      while low < high {
        let middle = (low + high) / 2
        if piece[middle].beacon < beacon { low = middle + 1 } else { high = middle }
      }
      if low < piece.count, piece[low].beacon == beacon { return piece[low] }
    }
    return nil
  }

  /// Returns the newest entries of the selected beacons.
  func words(where isSelected: (Beacon) -> Bool) -> [Beacon: MappedBeacon] {
    var words: [Beacon: MappedBeacon] = [:]
    for piece in pieces { for word in piece where isSelected(word.beacon) { words[word.beacon] = word } }
    return words
  }
}
