internal import Compression
internal import JSON
internal import NIOCore

/// Some server-sent events as bytes, made once for all clients that are sent them. Of the hub's thread.
final class StreamFrame {
  /// Empty once it is packed, where nobody takes it plain.
  private var plain: [UInt8]
  private let keepsPlain: Bool
  private var plainBuffer: ByteBuffer?
  private var packed: (buffer: ByteBuffer, sum: GzipSum)?

  /// - Parameter keepsPlain: whether somebody may take it plain. What many parts of the map are told at a moment is not to be in
  ///   memory twice.
  init(_ bytes: [UInt8], keepsPlain: Bool = true) {
    plain = bytes
    self.keepsPlain = keepsPlain
  }

  /// One event in one line of data.
  /// - Parameter json: without line breaks.
  convenience init(event: String, id: String? = nil, json: [UInt8], keepsPlain: Bool = true) {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(json.count + event.utf8.count + 40)
    bytes += "event: \(event)\n".utf8
    if let id { bytes += "id: \(id)\n".utf8 }
    bytes += "data: ".utf8
    bytes += json
    bytes += "\n\n".utf8
    self.init(bytes, keepsPlain: keepsPlain)
  }

  /// What is written to a client.
  /// - Parameters:
  ///   - packer: nil for a client that takes it plain.
  ///   - sum: of all that was sent packed, which this is added to.
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
    // It fails only where there is no memory, and then this is the least of it.
    guard let bytes = try? packer.pack(plain, .independent) else { return ByteBuffer() }
    let made = (buffer: ByteBuffer(bytes: bytes), sum: GzipSum(of: plain))
    packed = made
    if !keepsPlain { plain = [] }
    sum.append(made.sum)
    return made.buffer
  }
}

/// Something else that streams tell, as alerts: the newest state of it, whenever that changes.
package protocol StreamSource: Sendable {
  /// The event's name.
  var event: String { get }
  /// Rises with each change; read several times a second.
  var revision: UInt64 { get }
  /// What somebody may see of it, as JSON in one line; nil for nothing.
  func json(for principal: Principal) -> [UInt8]?
}
