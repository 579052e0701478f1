internal import Positioning
internal import Sensors

/// Pieces of the fleet's map that are not in the file yet: so that they are written with what was learned, and not on their own.
struct WaitingPieces: Sendable {
  /// Each in the order of identities, as they are told; the newest last.
  private var pieces: [[MappedBeacon]] = []
  /// Of cells that are here as a whole with them.
  private(set) var versions: [String: String] = [:]

  /// Whether a piece was lost, and nobody knows any more which cell is whole.
  private var isSpoiled = false

  /// Pieces that wait at most, some 150 kB each.
  static let most = 8

  var isEmpty: Bool { pieces.isEmpty && versions.isEmpty }
  var isFull: Bool { pieces.count >= Self.most }

  /// - Parameter piece: in the order of identities, none twice.
  mutating func append(_ piece: [MappedBeacon]) {
    // A disk that takes nothing costs the oldest.
    if isFull {
      pieces.removeFirst()
      (versions, isSpoiled) = ([:], true)
    }
    pieces.append(piece)
  }

  mutating func setVersion(_ version: String, of cell: String) {
    if !isSpoiled { versions[cell] = version }
  }

  /// The newest word on a beacon.
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

  /// The newest word on each of the beacons that are meant.
  func words(where isMeant: (Beacon) -> Bool) -> [Beacon: MappedBeacon] {
    var words: [Beacon: MappedBeacon] = [:]
    for piece in pieces { for word in piece where isMeant(word.beacon) { words[word.beacon] = word } }
    return words
  }
}
