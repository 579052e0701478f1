internal import CFleetPage
internal import Compression
package import Hummingbird
internal import NIOCore

/// The page's files, which are part of the program, and Leaflet's files; compressed once, with tags by
/// content.
package struct PageFiles: Sendable {
  private struct File: Sendable {
    var type: String
    var plain: ByteBuffer
    /// The compressed bytes; nil if compression saves nothing.
    var packed: ByteBuffer?
    var tag: String
  }

  private var files: [String: File] = [:]
  /// The reason for a missing Leaflet; nil if it is installed.
  private var leafletProblem: WebError?

  /// Prepares the files.
  ///
  /// - Parameter leaflet: nil for only the page's own files.
  package init(leaflet: LeafletFiles? = nil) {
    let table = unsafe UnsafeBufferPointer(start: fleet_page_table(), count: fleet_page_file_count)
    for index in table.indices {
      let file = unsafe table[index]
      let name = unsafe String(cString: file.path)
      files[name] = unsafe Self.file(
        name, Array(UnsafeBufferPointer(start: file.bytes, count: file.length)))
    }
    guard let leaflet else { return }
    for (name, bytes) in leaflet.files { files["vendor/leaflet/\(name)"] = Self.file(name, bytes) }
    leafletProblem = leaflet.problem.map {
      WebError(.serviceUnavailable, "leaflet-missing", $0, remedy: LeafletFiles.remedy)
    }
  }

  package var hasLeaflet: Bool { leafletProblem == nil }

  /// The paths below the server's root, sorted.
  package var names: [String] { files.keys.sorted() }

  private static func file(_ name: String, _ bytes: [UInt8]) -> File {
    let type = ContentType.of(name)
    let packed = ContentType.isText(type) ? try? Gzip.packed(bytes, level: 9) : nil
    return File(
      type: type, plain: ByteBuffer(bytes: bytes),
      packed: packed.flatMap { $0.count < bytes.count * 9 / 10 ? ByteBuffer(bytes: $0) : nil },
      tag: ContentTag.of(bytes))
  }

  /// Returns a file.
  ///
  /// - Throws: 404 for an unknown file, 503 for a file of Leaflet if it is not installed.
  package func response(to name: String, _ request: Request) throws(WebError) -> Response {
    guard let file = files[name] else {
      if name.hasPrefix("vendor/leaflet/"), let leafletProblem { throw leafletProblem }
      throw .notFound("/\(name)")
    }
    // Browsers revalidate a file each time, and receive it only after a change, so that updates are visible
    // immediately.
    var response = Response(
      status: .ok,
      headers: [.contentType: file.type, .cacheControl: "no-cache", .vary: "Accept-Encoding"],
      body: .init(byteBuffer: file.plain))
    if let packed = file.packed, GzipAnswers.accepts(request) {
      response.headers[.contentEncoding] = "gzip"
      response.body = .init(byteBuffer: packed)
    }
    return response.tagged(file.tag, for: request)
  }
}

/// A tag that changes with the content.
package enum ContentTag {
  /// Returns 16 hexadecimal digits (FNV-1a, 64 bit), which distinguish versions but are not cryptographic.
  package static func of(_ bytes: [UInt8]) -> String {
    var hash = Hash()
    hash.combine(bytes)
    return hash.text
  }

  /// The incremental computation of a tag.
  struct Hash {
    private var state: UInt64 = 0xcbf2_9ce4_8422_2325

    mutating func combine(_ bytes: [UInt8]) {
      for byte in bytes { state = (state ^ UInt64(byte)) &* 0x100_0000_01b3 }
    }

    var text: String {
      let digits = String(state, radix: 16)
      return String(repeating: "0", count: 16 - digits.count) + digits
    }
  }
}

/// Content types by file name.
enum ContentType {
  static func of(_ name: String) -> String {
    switch name.split(separator: ".").last.map(String.init) {
    case "html": "text/html; charset=utf-8"
    case "js", "mjs": "text/javascript; charset=utf-8"
    case "css": "text/css; charset=utf-8"
    case "json": "application/json; charset=utf-8"
    case "webmanifest": "application/manifest+json; charset=utf-8"
    case "svg": "image/svg+xml"
    case "png": "image/png"
    case "ico": "image/x-icon"
    case "woff2": "font/woff2"
    case "txt": "text/plain; charset=utf-8"
    default: "application/octet-stream"
    }
  }

  static func isText(_ type: String) -> Bool {
    type.hasPrefix("text/") || type.hasPrefix("application/json") || type.hasPrefix("application/manifest")
      || type.hasPrefix("image/svg")
  }
}
