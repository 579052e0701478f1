internal import HTTPTypes
package import Hummingbird
package import JSON

extension Request {
  /// Rejects unknown query parameters: a misspelt filter must not return everything.
  ///
  /// - Throws: 400 for the first unknown name.
  package func refuseQueries(but known: [String]) throws(WebError) {
    for part in (uri.query ?? "").split(separator: "&") {
      let name = PercentEncoding.decoded(part.prefix { $0 != "=" }) ?? String(part)
      guard known.contains(name) else {
        throw .invalid(
          "query", "\(name.prefix(80)): unknown parameter",
          remedy: known.isEmpty
            ? "write values into the JSON body" : "available: \(known.joined(separator: ", "))")
      }
    }
  }

  /// Returns the body as JSON of a request that has no query parameters.
  /// - Parameters:
  ///   - limit: the maximum size in bytes.
  ///   - types: the accepted media types; nil for any.
  /// - Throws: `WebError`: 415 for another type, 413 for a longer body, 400 for invalid JSON and for a query
  ///   parameter.
  package func json(upTo limit: Int, types: [String]? = ["application/json"]) async throws -> JSONValue {
    try refuseQueries(but: [])
    if let types {
      // A form on another server's page cannot send this type.
      let type = headers[.contentType].map { $0.prefix { $0 != ";" && $0 != " " }.lowercased() }
      guard let type, types.contains(type) else {
        throw WebError(
          .unsupportedMediaType, "unsupported-media-type", "the media type of the body is not supported",
          remedy: "send Content-Type: \(types.joined(separator: " or "))")
      }
    }
    let bytes = try await bytes(upTo: limit)
    do throws(JSONError) { return try JSONValue(parsing: bytes) } catch {
      throw WebError.invalid("body", "the body is not JSON: \(error)")
    }
  }
}

extension JSONValue {
  /// Returns the members of an object.
  /// - Throws: `WebError` for another value and for the first unknown member.
  package func members(_ known: [String]) throws(WebError) -> [String: JSONValue] {
    guard case .object(let members) = self else {
      throw .invalid(
        "body", "the body is not a JSON object", remedy: "available: \(known.joined(separator: ", "))")
    }
    for name in members.keys.sorted() where !known.contains(name) {
      throw .invalid(
        "body", "key \"\(name.prefix(80))\": unknown key",
        remedy: "available: \(known.joined(separator: ", "))")
    }
    return members
  }
}
