internal import HTTPTypes
internal import Hummingbird
internal import JSON
internal import NIOCore

extension Response {
  /// JSON that is nobody's to keep.
  static func `private`(
    _ body: [UInt8], status: HTTPResponse.Status = .ok, headers: HTTPFields = .init()
  ) -> Response {
    var headers = headers
    headers[.contentType] = "application/json; charset=utf-8"
    headers[.cacheControl] = "no-store"
    return Response(status: status, headers: headers, body: .init(byteBuffer: ByteBuffer(bytes: body)))
  }
}

extension Request {
  /// The members of a body of a few values.
  /// - Throws: 415 for another type, 400 for what is no JSON object, 413 for more than a few values.
  func smallObject() async throws -> JSONValue {
    // A form of another server's page cannot say this.
    let type = headers[.contentType]?.prefix { $0 != ";" }.lowercased()
    guard type == "application/json" else {
      throw WebError(
        .unsupportedMediaType, "unsupported-media-type", "the body is JSON, and Content-Type says so")
    }
    let bytes = try await bytes(upTo: Gate.longestLogin)
    do throws(JSONError) {
      let value = try JSONValue(parsing: bytes)
      guard case .object = value else { throw JSONError("it is no object") }
      return value
    } catch {
      throw WebError.invalid("body", "the body cannot be read: \(error.description)")
    }
  }
}
