import Compression
import Simulation
import TestSupport
import Testing

@Suite struct DeflateTests {
  private func bytes(_ count: Int, _ random: inout SeededGenerator, values: UInt64 = 256) -> [UInt8] {
    (0..<count).map { _ in UInt8(random.next() % values) }
  }

  @Test func compressedDataIsRestored() throws {
    var random = SeededGenerator.announced()
    for count in [0, 1, 2, 100, 16_383, 16_384, 16_385, 300_000] {
      let sections = [bytes(count, &random, values: 7), [], bytes(count / 2, &random)]
      let packed = try Deflate.huffman(sections)
      let all = sections.flatMap { $0 }
      #expect(try Deflate.unpacked(packed, limit: all.count) == all, "\(count), seed \(random.seed)")
      #expect(count < 1000 || packed.count < all.count * 9 / 10)
    }
  }

  /// Each kind of bytes needs the size of its own code, and not that of a code for the mixture.
  @Test func eachSectionHasItsOwnCode() throws {
    var random = SeededGenerator.announced()
    let sections = (0..<8).map { number in bytes(4000, &random, values: 4).map { $0 &+ UInt8(4 * number) } }
    let packed = try Deflate.huffman(sections)
    // Four values and the end of a block: 2.25 bits each.
    #expect(packed.count < 8 * (1125 + 40), "\(packed.count) bytes, seed \(random.seed)")
    #expect(try Deflate.huffman([sections.flatMap { $0 }]).count > 16_000)
  }

  @Test func outputBeyondTheLimitIsRefused() throws {
    let packed = try Deflate.huffman([[UInt8](repeating: 0, count: 1_000_000)])
    #expect(throws: CompressionError.self) { try Deflate.unpacked(packed, limit: 999_999) }
    #expect(try Deflate.unpacked(packed, limit: 1_000_000).count == 1_000_000)
  }

  @Test func damageIsFound() throws {
    var random = SeededGenerator.announced()
    let packed = try Deflate.huffman([bytes(1000, &random, values: 20), bytes(100, &random)])
    #expect(throws: CompressionError.self) { try Deflate.unpacked([], limit: 10_000) }
    #expect(throws: CompressionError.self) { try Deflate.unpacked(packed + [0], limit: 10_000) }
    for end in stride(from: 0, to: packed.count, by: 7) {
      #expect(throws: CompressionError.self) { try Deflate.unpacked(Array(packed[..<end]), limit: 10_000) }
    }
    for _ in 0..<2000 {
      var damaged = packed
      damaged[Int(random.next() % UInt64(packed.count))] ^= UInt8(1 << (random.next() % 8))
      // The first bytes also contain hints without an effect.
      let result = try? Deflate.unpacked(damaged, limit: 10_000)
      #expect(result == nil || result?.count == 1100, "seed \(random.seed)")
    }
  }
}
