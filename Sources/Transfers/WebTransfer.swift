internal import CCurl
internal import Platform

/// What is posted.
package struct WebRequest: Sendable {
  package var url: String
  /// Lines, as in `Accept: application/json`.
  package var headers: [String]
  /// Text without zero bytes.
  package var body: String
  /// Whether it goes through no proxy; else the environment says (http_proxy, no_proxy).
  package var isDirect: Bool
  /// Certificates to trust in place of the system's; nil for those.
  package var authorities: String?

  package init(
    url: String, headers: [String], body: String, isDirect: Bool = false, authorities: String? = nil
  ) {
    (self.url, self.headers, self.body) = (url, headers, body)
    (self.isDirect, self.authorities) = (isDirect, authorities)
  }
}

/// What came back.
package struct WebAnswer: Hashable, Sendable {
  package var status: Int
  /// The media type; empty for none.
  package var type: String
  /// Seconds after which it wants to be asked again; nil where it does not say.
  package var retryAfter: Double?
  package var body: [UInt8]
}

/// Posts by HTTP, one after the other; connections are used again. Blocks: not for the cooperative pool.
package final class WebTransfer {
  private let transfer: CurlTransfer

  /// - Parameter goesOn: asked some times a second; when it says no, the question is left.
  /// - Returns: nil when the library cannot be used.
  package init?(_ limits: TransferLimits = TransferLimits(), goesOn: @escaping () -> Bool) {
    guard let transfer = CurlTransfer(limits, goesOn: goesOn) else { return nil }
    self.transfer = transfer
  }

  /// The status of the last answer, also of one that was too long; 0 for none.
  package var status: Int { transfer.status }

  /// - Throws: `TransferFailure` where nothing was answered.
  package func post(_ request: WebRequest) throws(TransferFailure) -> WebAnswer {
    var texts: [(CURLoption, String)] = [
      (CURLOPT_URL, request.url), (CURLOPT_PROTOCOLS_STR, "http,https"),
      (CURLOPT_USERAGENT, "odograph/\(BuildInformation.current.version)"),
      (CURLOPT_COPYPOSTFIELDS, request.body),
    ]
    if request.isDirect { texts.append((CURLOPT_PROXY, "")) }
    if let authorities = request.authorities { texts.append((CURLOPT_CAINFO, authorities)) }
    // An empty Expect says that the body is not to be announced and waited for.
    try transfer.perform(
      texts: texts, numbers: [(CURLOPT_HTTP09_ALLOWED, 0)], headers: request.headers + ["Expect:"])
    return WebAnswer(
      status: transfer.status, type: transfer.contentType, retryAfter: transfer.retryAfter,
      body: transfer.answer)
  }
}
