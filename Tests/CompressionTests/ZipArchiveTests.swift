import Compression
import Testing

/// Archives in the form in which map programs write KMZ.
@Suite struct ZipArchiveTests {
  /// - Parameter isPacked: True for deflate, false for stored files.
  private func archive(_ files: [(name: String, content: String)], isPacked: Bool) throws -> [UInt8] {
    func number(_ value: Int, _ length: Int) -> [UInt8] {
      (0..<length).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
    }
    var (bytes, directory) = ([UInt8](), [UInt8]())
    for (name, content) in files {
      // Without the header and the checksum of zlib's format.
      let packed =
        isPacked
        ? Array(try Deflate.huffman([Array(content.utf8)]).dropFirst(2).dropLast(4)) : Array(content.utf8)
      let common =
        number(20, 2) + number(0, 2) + number(isPacked ? 8 : 0, 2) + number(0, 8) + number(packed.count, 4)
        + number(content.utf8.count, 4) + number(name.utf8.count, 2) + number(0, 2)
      directory +=
        [0x50, 0x4B, 1, 2] + number(20, 2) + common + number(0, 10) + number(bytes.count, 4)
        + Array(name.utf8)
      bytes += [0x50, 0x4B, 3, 4] + common + Array(name.utf8) + packed
    }
    let start = bytes.count
    return bytes + directory + [0x50, 0x4B, 5, 6] + number(0, 4) + number(files.count, 2)
      + number(files.count, 2)
      + number(directory.count, 4) + number(start, 4) + number(0, 2)
  }

  @Test(arguments: [true, false]) func theFirstFileWithTheSuffixIsRead(isPacked: Bool) throws {
    let bytes = try archive(
      [("icon.png", "x"), ("doc.KML", "<kml>\(String(repeating: "a", count: 5000))</kml>")],
      isPacked: isPacked)
    #expect(ZipArchive.isArchive(bytes))
    let content = try ZipArchive.firstFile(of: bytes, suffix: ".kml", limit: 10_000)
    #expect(content.count == 5011 && content.starts(with: Array("<kml>".utf8)))
    #expect(throws: CompressionError.self) {
      try ZipArchive.firstFile(of: bytes, suffix: ".kml", limit: 5000)
    }
    #expect(throws: CompressionError.self) {
      try ZipArchive.firstFile(of: bytes, suffix: ".gpx", limit: 5000)
    }
  }

  @Test func damagedArchivesAreErrors() throws {
    let bytes = try archive([("doc.kml", "<kml></kml>")], isPacked: true)
    for length in 0..<bytes.count {
      #expect(throws: CompressionError.self) {
        try ZipArchive.firstFile(of: Array(bytes[..<length]), suffix: ".kml", limit: 1000)
      }
    }
    for index in bytes.indices {
      for value: UInt8 in [0, 0xFF] {
        var damaged = bytes
        damaged[index] = value
        // Every outcome is accepted, except for a trap.
        _ = try? ZipArchive.firstFile(of: damaged, suffix: ".kml", limit: 1000)
      }
    }
  }
}
