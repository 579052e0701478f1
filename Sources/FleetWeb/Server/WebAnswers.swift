internal import Bytes
package import Fleet
package import HTTPTypes
package import Hummingbird
internal import NIOCore

extension HTTPField.Name {
  package static var retryAfter: Self { knownName("Retry-After") }
  package static var vary: Self { knownName("Vary") }

  /// A name that is written in this program.
  static func knownName(_ name: String) -> Self { Self(name) ?? .userAgent }
}

extension Response {
  /// An answer in JSON. It is for the one who asked, and for now: nobody keeps it, unless an `ETag` says otherwise.
  package static func json(
    _ bytes: [UInt8], status: HTTPResponse.Status = .ok, type: String = "application/json; charset=utf-8"
  ) -> Response {
    Response(
      status: status, headers: [.contentType: type, .cacheControl: "private, no-cache"],
      body: .init(byteBuffer: ByteBuffer(bytes: bytes)))
  }

  package static func geoJSON(_ bytes: [UInt8]) -> Response { json(bytes, type: "application/geo+json") }

  /// The same with a tag, or 304 where the client has it already.
  /// - Parameter tag: changes with the answer; without quotes.
  package func tagged(_ tag: String, for request: Request) -> Response {
    // Weak, as the same may come packed or plain.
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
  /// A part of the address as it is meant, as `{vehicle}`.
  /// - Throws: 404 for one that is no text.
  package func name(_ parameter: String) throws(WebError) -> String {
    guard let raw = parameters.get(parameter), let name = PercentEncoding.decoded(raw), !name.isEmpty else {
      throw .notFound("such name")
    }
    return name
  }

  /// The vehicle that the address names by `{fleet}` and `{vehicle}`.
  package func vehicleKey() throws(WebError) -> VehicleKey {
    VehicleKey(fleet: try name("fleet"), vehicle: try name("vehicle"))
  }
}

extension Request {
  /// What the query says of a name, decoded; nil where it says nothing.
  /// - Throws: 400 for a value that cannot be read, and for one that stands there twice.
  package func query(_ name: String) throws(WebError) -> String? {
    var found: String?
    for part in Substring(uri.query ?? "").utf8.split(separator: UInt8(ascii: "&")) {
      let halves = part.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
      guard PercentEncoding.decoded(halves[0], plusIsSpace: true) == name else { continue }
      guard found == nil else { throw .invalid("query", "\(name) stands there twice") }
      guard
        let value = PercentEncoding.decoded(
          halves.count > 1 ? halves[1] : Substring().utf8, plusIsSpace: true)
      else { throw .invalid("query", "\(name) is not UTF-8 in percent-encoding") }
      found = value
    }
    return found
  }

  /// A number of the query.
  /// - Throws: 400 for what is no number in the range.
  package func query(_ name: String, in range: ClosedRange<Double>) throws(WebError) -> Double? {
    guard let text = try query(name) else { return nil }
    guard let number = Double(text), range.contains(number) else {
      throw .invalid("query", "\(name) is a number from \(range.lowerBound) to \(range.upperBound)")
    }
    return number
  }

  /// A whole number of the query.
  /// - Throws: 400 for what is none in the range.
  package func query(_ name: String, in range: ClosedRange<Int>) throws(WebError) -> Int? {
    guard let text = try query(name) else { return nil }
    guard let number = Int(text), range.contains(number) else {
      throw .invalid("query", "\(name) is a whole number from \(range.lowerBound) to \(range.upperBound)")
    }
    return number
  }

  /// The body as a whole.
  /// - Throws: 413 for one that is longer, and what the connection's end throws.
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

/// Addresses' percent-encoding (RFC 3986).
package enum PercentEncoding {
  /// The text that is meant; nil for what is not UTF-8, or has a percent sign that two digits do not follow.
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

  /// The text as it stands in a path or a query.
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
