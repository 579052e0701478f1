internal import Compression
internal import JSON
internal import NIOCore

/// Server-sent events as bytes, shared by all their clients. Used by the hub's thread.
final class StreamFrame {
  /// The plain bytes; empty once they are compressed and no client needs them.
  private var plain: [UInt8]
  /// True if a client may need the frame uncompressed; otherwise the plain bytes are dropped when it is
  /// compressed.
  private let keepsPlain: Bool
  private var plainBuffer: ByteBuffer?
  private var packed: (buffer: ByteBuffer, sum: GzipSum)?

  /// Creates an event with one line of data.
  /// - Parameter json: JSON without line breaks.
  init(event: String, id: String? = nil, json: [UInt8], keepsPlain: Bool = true) {
    self.keepsPlain = keepsPlain
    var bytes: [UInt8] = []
    bytes.reserveCapacity(json.count + event.utf8.count + 40)
    bytes += "event: \(event)\n".utf8
    if let id { bytes += "id: \(id)\n".utf8 }
    bytes += "data: ".utf8
    bytes += json
    bytes += "\n\n".utf8
    plain = bytes
  }

  /// Returns the bytes for a client.
  /// - Parameters:
  ///   - packer: nil for a client without compression.
  ///   - sum: the checksum of all compressed data so far, to which this frame is added.
  func buffer(_ packer: GzipPacker?, _ sum: inout GzipSum) -> ByteBuffer {
    guard let packer else {
      let buffer = plainBuffer ?? ByteBuffer(bytes: plain)
      plainBuffer = buffer
      return buffer
    }
    if let packed {
      sum.append(packed.sum)
      return packed.buffer
    }
    // Compression only fails if memory is exhausted.
    guard let bytes = try? packer.pack(plain, .independent) else { return ByteBuffer() }
    let made = (buffer: ByteBuffer(bytes: bytes), sum: GzipSum(of: plain))
    packed = made
    if !keepsPlain { plain = [] }
    sum.append(made.sum)
    return made.buffer
  }
}

/// A further source of stream events, such as alerts: its current state is sent whenever it changes.
package protocol StreamSource: Sendable {
  /// The name of the event.
  var event: String { get }
  /// A number that increases with each change; read several times a second.
  var revision: UInt64 { get }
  /// Returns the visible state as one line of JSON; nil for none.
  func json(for principal: Principal) -> [UInt8]?
}
