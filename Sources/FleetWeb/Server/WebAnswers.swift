internal import Bytes
package import Fleet
package import HTTPTypes
package import Hummingbird
internal import NIOCore

extension HTTPField.Name {
  package static var retryAfter: Self { knownName("Retry-After") }
  package static var vary: Self { knownName("Vary") }

  /// Returns a header name that is a constant in this program.
  static func knownName(_ name: String) -> Self { Self(name) ?? .userAgent }
}

extension Response {
  /// Returns a JSON response. Clients must revalidate a cached copy, which requires an `ETag`.
  package static func json(
    _ bytes: [UInt8], status: HTTPResponse.Status = .ok, type: String = "application/json; charset=utf-8"
  ) -> Response {
    Response(
      status: status, headers: [.contentType: type, .cacheControl: "private, no-cache"],
      body: .init(byteBuffer: ByteBuffer(bytes: bytes)))
  }

  package static func geoJSON(_ bytes: [UInt8]) -> Response { json(bytes, type: "application/geo+json") }

  /// Returns the response with a tag, or 304 if the client already has it.
  /// - Parameter tag: changes with the response; without quotes.
  package func tagged(_ tag: String, for request: Request) -> Response {
    // A weak tag, because the response can be compressed or not.
    let tag = "W/\"\(tag)\""
    var response = self
    response.headers[.eTag] = tag
    guard let known = request.headers[.ifNoneMatch], request.method == .get || request.method == .head,
      known == "*"
        || known.split(separator: ",").contains(where: { $0.trimmed == tag || "W/" + $0.trimmed == tag })
    else { return response }
    response.headers[.contentType] = nil
    var unchanged = Response(status: .notModified, headers: response.headers)
    unchanged.headers[.contentLength] = nil
    return unchanged
  }
}

extension Substring {
  fileprivate var trimmed: Substring {
    var text = drop { $0 == " " || $0 == "\t" }
    while let last = text.last, last == " " || last == "\t" { text.removeLast() }
    return text
  }
}

extension WebContext {
  /// Returns a decoded path parameter such as `{vehicle}`.
  /// - Throws: 404 for invalid text.
  package func name(_ parameter: String) throws(WebError) -> String {
    guard let raw = parameters.get(parameter), let name = PercentEncoding.decoded(raw), !name.isEmpty else {
      throw .notFound("such name")
    }
    return name
  }

  /// Returns the vehicle named by `{fleet}` and `{vehicle}`.
  package func vehicleKey() throws(WebError) -> VehicleKey {
    VehicleKey(fleet: try name("fleet"), vehicle: try name("vehicle"))
  }
}

extension Request {
  /// Returns a decoded query parameter; nil if missing.
  /// - Throws: 400 for an invalid or repeated value.
  package func query(_ name: String) throws(WebError) -> String? {
    var found: String?
    for part in Substring(uri.query ?? "").utf8.split(separator: UInt8(ascii: "&")) {
      let halves = part.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
      guard PercentEncoding.decoded(halves[0], plusIsSpace: true) == name else { continue }
      guard found == nil else { throw .invalid("query", "\(name) occurs twice") }
      guard
        let value = PercentEncoding.decoded(
          halves.count > 1 ? halves[1] : Substring().utf8, plusIsSpace: true)
      else { throw .invalid("query", "\(name) is not UTF-8 in percent-encoding") }
      found = value
    }
    return found
  }

  /// Returns a numeric query parameter.
  /// - Throws: 400 for a number out of range or an invalid one.
  package func query(_ name: String, in range: ClosedRange<Double>) throws(WebError) -> Double? {
    guard let text = try query(name) else { return nil }
    guard let number = Double(text), range.contains(number) else {
      throw .invalid("query", "\(name) must be a number from \(range.lowerBound) to \(range.upperBound)")
    }
    return number
  }

  /// Returns an integer query parameter.
  /// - Throws: 400 for a number out of range or an invalid one.
  package func query(_ name: String, in range: ClosedRange<Int>) throws(WebError) -> Int? {
    guard let text = try query(name) else { return nil }
    guard let number = Int(text), range.contains(number) else {
      throw .invalid("query", "\(name) must be an integer from \(range.lowerBound) to \(range.upperBound)")
    }
    return number
  }

  /// Returns the complete body.
  /// - Throws: 413 for a longer body, and errors of the connection.
  package func bytes(upTo limit: Int) async throws -> [UInt8] {
    if let announced = headers[.contentLength].flatMap({ Int($0) }), announced > limit {
      throw Self.tooLarge(limit)
    }
    do {
      let buffer = try await body.collect(upTo: limit)
      return [UInt8](buffer.readableBytesView)
    } catch is NIOTooManyBytesError { throw Self.tooLarge(limit) }
  }

  private static func tooLarge(_ limit: Int) -> WebError {
    WebError(.contentTooLarge, "too-large", "the body is longer than \(limit) bytes")
  }
}

/// Percent-encoding of URLs (RFC 3986).
package enum PercentEncoding {
  /// Decodes a text; nil for invalid UTF-8 or a percent sign without two digits.
  package static func decoded(_ text: some StringProtocol) -> String? { decoded(Substring(text).utf8) }

  static func decoded(_ bytes: Substring.UTF8View, plusIsSpace: Bool = false) -> String? {
    var result: [UInt8] = []
    result.reserveCapacity(bytes.count)
    var rest = bytes[...]
    while let byte = rest.popFirst() {
      switch byte {
      case UInt8(ascii: "%"):
        guard let high = rest.popFirst()?.hexDigit, let low = rest.popFirst()?.hexDigit else { return nil }
        result.append(high << 4 | low)
      case UInt8(ascii: "+") where plusIsSpace: result.append(UInt8(ascii: " "))
      default: result.append(byte)
      }
    }
    return String(validating: result, as: UTF8.self)
  }

  /// Encodes a text for a path or a query.
  package static func encoded(_ text: String) -> String {
    var result = ""
    for byte in text.utf8 {
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
        UInt8(ascii: "~"):
        result.unicodeScalars.append(Unicode.Scalar(byte))
      default:
        let digits = Array("0123456789ABCDEF")
        result += "%\(digits[Int(byte >> 4)])\(digits[Int(byte & 15)])"
      }
    }
    return result
  }
}

extension UInt8 {
  fileprivate var hexDigit: UInt8? {
    switch self {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): self - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): self - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): self - UInt8(ascii: "A") + 10
    default: nil
    }
  }
}
