internal import CFleetPage
package import Hummingbird
internal import NIOCore

/// The page's files, which are part of the program.
package struct PageFiles: Sendable {
  private let files: [String: ByteBuffer]

  package init() {
    var files: [String: ByteBuffer] = [:]
    let table = unsafe UnsafeBufferPointer(start: fleet_page_table(), count: fleet_page_file_count)
    for index in table.indices {
      let file = unsafe table[index]
      let name = unsafe String(cString: file.path)
      files[name] = unsafe ByteBuffer(bytes: UnsafeBufferPointer(start: file.bytes, count: file.length))
    }
    self.files = files
  }

  /// - Throws: 404 for what is no file of the page.
  package func response(to name: String) throws -> Response {
    guard let bytes = files[name] else { throw HTTPError(.notFound) }
    return Response(
      status: .ok, headers: [.contentType: "text/html; charset=utf-8"], body: .init(byteBuffer: bytes))
  }
}
