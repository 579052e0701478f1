internal import Bytes
package import JSON
public import Spatial

/// Payload of `trace/piece`: a part of a trace's bytes. The pieces in order of their numbers form the trace.
public struct TracePieceMessage: Hashable, Sendable {
  /// Maximum size of a piece in bytes, so that messages stay below the default limits of brokers.
  public static let largestSize = 16 * 1024

  public var identity: MessageIdentity?
  /// Time at which the piece was created.
  public var time: UTCTime
  public var trace: JournalNumber
  /// Number of this piece, from 1, and number of all pieces of the trace.
  public var piece, pieces: Int
  public var bytes: [UInt8]

  public init(time: UTCTime, trace: JournalNumber, piece: Int, pieces: Int, bytes: [UInt8]) {
    (self.time, self.trace, self.piece, self.pieces, self.bytes) = (time, trace, piece, pieces, bytes)
  }

  /// Encoded payload with the bytes as Base64.
  public var payload: [UInt8] {
    JSONWriter.object { json in
      json.field("time", time.rfc3339)
      trace.write(to: &json)
      json.field("piece", piece)
      json.field("pieces", pieces)
      json.field("bytes", Base64.encode(bytes))
      json.write(identity)
    }
  }

  /// - Throws: `JSONError` naming the key that is missing or wrong.
  package init(json: JSONValue) throws(JSONError) {
    time = try json.requiredTime("time")
    trace = try JournalNumber(json: json)
    piece = Int(try json.required("piece", in: 1...1e6))
    pieces = Int(try json.required("pieces", in: 1...1e6))
    guard piece <= pieces else { throw JSONError("key \"piece\": greater than \"pieces\"") }
    guard let text = json["bytes"]?.string, text.utf8.count <= 2 * Self.largestSize,
      let bytes = Base64.decode(text)
    else { throw JSONError("key \"bytes\": missing, too long or not Base64") }
    self.bytes = bytes
    identity = json.identity
  }
}

extension TracePieceMessage: TimedContent {
  static let contract = MessageContract(path: TopicScheme.tracePiece, lane: .traces)
}
