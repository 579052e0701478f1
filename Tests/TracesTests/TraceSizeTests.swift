import Compression
import Foundation
import Sensors
import Simulation
import Spatial
import TestSupport
import Testing
import Traces

/// Size of 30 s of six axes at 400 Hz, without a missing sample.
@Suite struct TraceSizeTests {
  /// Bits per value for rounded noise of a given standard deviation in steps: differential entropy of the normal
  /// distribution (C. Shannon, 1948).
  private func bits(_ noise: Double) -> Double { log2(noise * (2 * Double.pi * M_E).squareRoot()) }

  @Test(arguments: [2.0, 4, 8])
  func thirtySecondsTakeSixtyKilobytes(noise: Double) throws {
    let random = SeededGenerator.announced()
    let drive = SimulatedScans(random, seconds: 30, noise: noise)
    var ring = TraceRing()
    for scan in drive.scans { ring.append(.inertial(scan)) }
    let times = try #require(ring.times)
    let blocks = ring.blocks(times)
    // The ring stores separate uncompressed blocks. A file for sending contains merged and compressed blocks.
    var bytes = TraceFile.bytes(.init(moment: times.upperBound, utcOffset: 0))
    for block in TraceBlock.merged(blocks) {
      bytes += TraceFile.bytes(block: try Deflate.huffman(block.sections))
    }
    // Each scan has six values and a time. None of them needs fewer bits than its noise.
    let bound = 12_000 * (6 * bits(noise) + bits(5)) / 8
    print("noise \(noise): \(bytes.count) bytes, entropy \(Int(bound)), ring \(ring.byteCount)")
    #expect(bytes.count <= 60_000 && Double(bytes.count) < 1.05 * bound + 2500, "seed \(random.seed)")

    let read = try #require(TraceFile(bytes: bytes))
    var samples: [TraceSample] = []
    for block in read.blocks {
      samples += try #require(TraceBlock(bytes: try Deflate.unpacked(block, limit: 1 << 20))).samples
    }
    #expect(read.lostBytes == 0 && samples.count == 12_000)
    for (index, sample) in samples.enumerated() {
      guard case .inertial(let scan) = sample else {
        Issue.record("no scan")
        return
      }
      guard scan.timestamp == drive.scans[index].timestamp, SimulatedScans.raw(scan) == drive.raw[index]
      else {
        Issue.record("sample \(index), seed \(random.seed)")
        return
      }
    }
  }
}
