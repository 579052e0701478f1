/// Reads single files of a ZIP archive, such as a KMZ file.
package enum ZipArchive {
  /// Returns whether bytes start like an archive that contains a file.
  package static func isArchive(_ bytes: [UInt8]) -> Bool { bytes.starts(with: [0x50, 0x4B, 3, 4]) }

  /// Returns the first file whose name has the given ending.
  /// - Parameter limit: maximum size of the decompressed file in bytes.
  /// - Throws: `CompressionError` for a damaged or encrypted archive, and for an archive without such a file.
  package static func firstFile(
    of archive: [UInt8], suffix: String, limit: Int
  ) throws(CompressionError) -> [UInt8] {
    for entry in try entries(archive) where entry.name.lowercased().hasSuffix(suffix) {
      return try content(of: entry, in: archive, limit: limit)
    }
    throw CompressionError("no file *\(suffix) in the archive")
  }

  private struct Entry {
    var name: String
    var method: Int
    var isEncrypted: Bool
    var packedSize: Int
    var header: Int
  }

  private static let damaged = CompressionError("the archive is damaged")

  /// Returns the entries of the directory at the end of the archive, which contains the sizes of all files.
  private static func entries(_ archive: [UInt8]) throws(CompressionError) -> [Entry] {
    // The record that ends the archive has 22 bytes and a comment of at most 65,535 bytes.
    let first = max(0, archive.count - 22 - 65_535)
    guard archive.count >= 22,
      let end = (first...archive.count - 22).reversed().first(where: {
        has([0x50, 0x4B, 5, 6], at: $0, archive)
      })
    else { throw damaged }
    var offset = integer(archive, end + 16, 4)
    var entries: [Entry] = []
    for _ in 0..<integer(archive, end + 10, 2) {
      guard offset + 46 <= archive.count, has([0x50, 0x4B, 1, 2], at: offset, archive) else { throw damaged }
      let nameEnd = offset + 46 + integer(archive, offset + 28, 2)
      guard nameEnd <= archive.count else { throw damaged }
      entries.append(
        Entry(
          name: String(decoding: archive[offset + 46..<nameEnd], as: UTF8.self),
          method: integer(archive, offset + 10, 2), isEncrypted: archive[offset + 8] & 1 != 0,
          packedSize: integer(archive, offset + 20, 4), header: integer(archive, offset + 42, 4)))
      offset = nameEnd + integer(archive, offset + 30, 2) + integer(archive, offset + 32, 2)
    }
    return entries
  }

  private static func content(
    of entry: Entry, in archive: [UInt8], limit: Int
  ) throws(CompressionError) -> [UInt8] {
    guard !entry.isEncrypted else { throw CompressionError("\(entry.name) is encrypted") }
    guard entry.header + 30 <= archive.count, has([0x50, 0x4B, 3, 4], at: entry.header, archive) else {
      throw damaged
    }
    let start =
      entry.header + 30 + integer(archive, entry.header + 26, 2) + integer(archive, entry.header + 28, 2)
    guard start + entry.packedSize <= archive.count else { throw damaged }
    let packed = Array(archive[start..<start + entry.packedSize])
    switch entry.method {
    case 0:
      guard packed.count <= limit else {
        throw CompressionError("\(entry.name) is larger than \(limit) bytes")
      }
      return packed
    case 8: return try Deflate.unpacked(packed, limit: limit, windowBits: -15)
    default:
      throw CompressionError("\(entry.name) is packed by method \(entry.method); only deflate can be read")
    }
  }

  private static func has(_ signature: [UInt8], at offset: Int, _ bytes: [UInt8]) -> Bool {
    bytes[offset...].starts(with: signature)
  }

  /// Decodes an integer whose least significant byte is first.
  private static func integer(_ bytes: [UInt8], _ offset: Int, _ length: Int) -> Int {
    (0..<length).reduce(0) { $0 | Int(bytes[offset + $1]) << (8 * $1) }
  }
}
