import FleetTerminal
import TestSupport
import Testing

@Suite struct KeyDecoderTests {
  static let sequences: [(String, [Key])] = [
    ("q", [.character("q")]), ("ü漢", [.character("ü"), .character("漢")]), ("\r", [.enter]), ("\t", [.tab]),
    ("\u{7F}", [.backspace]), ("\u{8}", [.backspace]), ("\u{3}", [.control("c")]),
    ("\u{15}", [.control("u")]),
    ("\u{1B}[A\u{1B}[B", [.up, .down]), ("\u{1B}OA", [.up]), ("\u{1B}[1;5C", [.right]),
    ("\u{1B}[5~", [.pageUp]),
    ("\u{1B}[6~x", [.pageDown, .character("x")]), ("\u{1B}[H\u{1B}[F", [.home, .end]),
    ("\u{1B}[3~", [.delete]),
    ("\u{1B}[1~\u{1B}[4~", [.home, .end]), ("\u{1B}[200~", []), ("\u{1B}\u{1B}[A", [.escape, .up]),
    ("\u{1B}q", [.escape, .character("q")]),
  ]

  @Test(arguments: sequences) func decodes(bytes: String, keys: [Key]) {
    var decoder = KeyDecoder()
    #expect(decoder.feed(bytes.utf8) == keys)
    #expect(!decoder.isPending)
    // The same byte by byte, as over a slow line.
    var slow = KeyDecoder()
    #expect(bytes.utf8.flatMap { slow.feed([$0]) } == keys)
  }

  @Test func aLoneEscapeIsAKeyIfNothingFollows() {
    var decoder = KeyDecoder()
    #expect(decoder.feed([0x1B]) == [])
    #expect(decoder.isPending)
    #expect(decoder.flush() == [.escape])
    #expect(!decoder.isPending)
  }

  @Test func noiseNeverTrapsAndIsNotBuffered() {
    let seed = UInt64.random(in: 0 ... .max)
    print("seed \(seed)")
    var generator = SplitMix(seed: seed)
    var decoder = KeyDecoder()
    for _ in 0..<20_000 {
      _ = decoder.feed([UInt8.random(in: 0...255, using: &generator)])
      if Int.random(in: 0..<50, using: &generator) == 0 { _ = decoder.flush() }
    }
    _ = decoder.flush()
    #expect(decoder.feed("q".utf8) == [.character("q")])
  }
}
