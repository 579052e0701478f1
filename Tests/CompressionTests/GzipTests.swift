import Compression
import Simulation
import TestSupport
import Testing

@Suite struct GzipTests {
  private func text(_ count: Int, _ random: inout SeededGenerator) -> [UInt8] {
    (0..<count).map { _ in UInt8(97 + random.next() % 6) }
  }

  @Test func compressedDataIsRestored() throws {
    var random = SeededGenerator.announced()
    for count in [0, 1, 1000, 100_000] {
      let bytes = text(count, &random)
      for level in [1, 6, 9] {
        let packed = try Gzip.packed(bytes, level: level)
        #expect(try Gzip.unpacked(packed, limit: count) == bytes)
        #expect(count < 1000 || packed.count < count / 2)
      }
    }
  }

  /// A flush returns bytes immediately, and all pieces are one stream.
  @Test func flushedPiecesAreOneStream() throws {
    let packer = try GzipPacker(level: 3)
    let first = try packer.pack(Array("one ".utf8), .sync)
    let second = try packer.pack(Array("two".utf8), .none)
    let end = try packer.pack([], .end)
    #expect(!first.isEmpty)
    #expect(try Gzip.unpacked(first + second + end, limit: 100) == Array("one two".utf8))
  }

  /// Independent blocks of one packer can be used in any order, and several times, in members of others.
  @Test func independentBlocksCanBeReused() throws {
    var random = SeededGenerator.announced()
    let packer = try GzipPacker(blocksAt: 1)
    let parts = (0..<20).map { _ in text(Int(random.next() % 5000), &random) }
    let blocks = try parts.map { try packer.pack($0, .independent) }
    for _ in 0..<20 {
      let order = (0..<Int(random.next() % 30)).map { _ in Int(random.next() % 20) }
      var sum = GzipSum()
      for place in order { sum.append(GzipSum(of: parts[place])) }
      let whole = order.flatMap { parts[$0] }
      #expect(sum == GzipSum(of: whole))
      let member = Gzip.header + order.flatMap { blocks[$0] } + Gzip.trailer(sum)
      #expect(try Gzip.unpacked(member, limit: whole.count) == whole, "seed \(random.seed)")
    }
  }

  @Test func damageIsFound() throws {
    var packed = try Gzip.packed(Array(repeating: 7, count: 5000), level: 6)
    #expect(throws: CompressionError.self) { try Gzip.unpacked(packed, limit: 4999) }
    #expect(throws: CompressionError.self) { try Gzip.unpacked(packed + [1], limit: 5000) }
    packed[packed.count - 5] ^= 1
    #expect(throws: CompressionError.self) { try Gzip.unpacked(packed, limit: 5000) }
  }
}
