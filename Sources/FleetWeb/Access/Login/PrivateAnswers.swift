internal import HTTPTypes
internal import Hummingbird
internal import NIOCore

extension Response {
  /// Returns a JSON response that must not be cached.
  static func `private`(
    _ body: [UInt8], status: HTTPResponse.Status = .ok, headers: HTTPFields = .init()
  ) -> Response {
    var headers = headers
    headers[.contentType] = "application/json; charset=utf-8"
    headers[.cacheControl] = "no-store"
    return Response(status: status, headers: headers, body: .init(byteBuffer: ByteBuffer(bytes: body)))
  }
}
