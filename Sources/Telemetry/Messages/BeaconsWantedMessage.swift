package import JSON
public import Spatial

/// Payload of `beacons/wanted`: the parts of the fleet's beacon map that the vehicle requests, with the
/// versions that it already has.
public struct BeaconsWantedMessage: Hashable, Sendable {
  public struct Cell: Hashable, Sendable {
    public var cell: Geohash
    /// The version of the cell of which the vehicle has all pieces; nil if it has none completely.
    public var version: String?

    public init(_ cell: Geohash, version: String?) {
      self.cell = cell
      self.version = version
    }
  }

  /// A rejected piece.
  public struct Refusal: Hashable, Sendable {
    /// Cell of the rejected piece, as received; empty if the piece contained no cell.
    public var cell: String
    public var reason: String

    public init(cell: String, reason: String) {
      self.cell = cell
      self.reason = reason
    }
  }

  public var identity: MessageIdentity?
  public var time: UTCTime
  /// Requested cells, at most `largestCount`.
  public var cells: [Cell]
  /// The newest pieces rejected since the previous message.
  public var refused: [Refusal] = []

  public static let largestCount = 16

  public init(identity: MessageIdentity? = nil, time: UTCTime, cells: [Cell], refused: [Refusal] = []) {
    self.identity = identity
    self.time = time
    self.cells = Array(cells.prefix(Self.largestCount))
    self.refused = Array(refused.suffix(Self.largestCount))
  }

  public var payload: [UInt8] {
    JSONWriter.object { json in
      json.field("time", time.rfc3339)
      json.field("cells", objects: cells) { json, cell in
        json.field("cell", cell.cell.text)
        json.field("version", cell.version)
      }
      if !refused.isEmpty {
        json.field("refused", objects: refused) { json, refusal in
          json.field("cell", refusal.cell)
          json.field("reason", refusal.reason)
        }
      }
      json.write(identity)
    }
  }

  /// - Throws: `JSONError` naming the key that is missing or wrong.
  package init(json: JSONValue) throws(JSONError) {
    time = try json.requiredTime("time")
    guard let elements = json["cells"]?.array, elements.count <= Self.largestCount else {
      throw JSONError("key \"cells\": missing, or not an array of at most \(Self.largestCount)")
    }
    cells = []
    for element in elements {
      guard let text = element["cell"]?.string, text.utf8.count == BeaconPiece.cellLength,
        let cell = Geohash(text)
      else {
        throw JSONError("key \"cells\": a cell is not a geohash of \(BeaconPiece.cellLength) characters")
      }
      let version = element["version"]?.string
      guard version.map(BeaconPiece.isVersion) ?? true else {
        throw JSONError("key \"cells\": the version of \(text) is not 16 hexadecimal digits")
      }
      cells.append(Cell(cell, version: version))
    }
    refused = (json["refused"]?.array ?? []).prefix(Self.largestCount).map {
      Refusal(
        cell: String(($0["cell"]?.string ?? "").prefix(12)),
        reason: String(($0["reason"]?.string ?? "").prefix(256)))
    }
    identity = json.identity
  }
}

extension BeaconsWantedMessage: TimedContent {
  static let contract = MessageContract(
    path: TopicScheme.beaconsWanted, lane: .state, isRetained: true, isAnswer: true)
}
