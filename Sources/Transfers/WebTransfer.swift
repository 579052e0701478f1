internal import CCurl
internal import Platform

/// An HTTP POST request.
package struct WebRequest: Sendable {
  package var url: String
  /// Header lines, such as `Accept: application/json`.
  package var headers: [String]
  /// The request body, a text without zero bytes.
  package var body: String
  /// True to bypass any proxy; otherwise the environment decides (http_proxy, no_proxy).
  package var isDirect: Bool
  /// The trusted certificates; nil for those of the system.
  package var authorities: String?

  package init(
    url: String, headers: [String], body: String, isDirect: Bool = false, authorities: String? = nil
  ) {
    (self.url, self.headers, self.body) = (url, headers, body)
    (self.isDirect, self.authorities) = (isDirect, authorities)
  }
}

/// An HTTP response.
package struct WebAnswer: Hashable, Sendable {
  package var status: Int
  /// The media type; empty if unknown.
  package var type: String
  /// The delay in seconds after which the server accepts a retry; nil if it did not specify one.
  package var retryAfter: Double?
  package var body: [UInt8]
}

/// A client that sends HTTP POST requests, one after the other, and reuses connections. Blocks, so it must
/// not run on the cooperative pool.
package final class WebTransfer {
  private let transfer: CurlTransfer

  /// Creates a client.
  ///
  /// - Parameter shouldContinue: called several times a second; the request is aborted if it returns false.
  /// - Returns: nil if libcurl cannot be initialized.
  package init?(_ limits: TransferLimits = TransferLimits(), shouldContinue: @escaping () -> Bool) {
    guard let transfer = CurlTransfer(limits, shouldContinue: shouldContinue) else { return nil }
    self.transfer = transfer
  }

  /// The status of the last response, also of one that was too long; 0 for none.
  package var status: Int { transfer.status }

  /// Sends a request.
  ///
  /// - Throws: `TransferFailure` if there is no response.
  package func post(_ request: WebRequest) throws(TransferFailure) -> WebAnswer {
    var texts: [(CURLoption, String)] = [
      (CURLOPT_URL, request.url), (CURLOPT_PROTOCOLS_STR, "http,https"),
      (CURLOPT_USERAGENT, "odograph/\(BuildInformation.current.version)"),
      (CURLOPT_COPYPOSTFIELDS, request.body),
    ]
    if request.isDirect { texts.append((CURLOPT_PROXY, "")) }
    if let authorities = request.authorities { texts.append((CURLOPT_CAINFO, authorities)) }
    // An empty Expect header disables `100-continue`.
    try transfer.perform(
      texts: texts, numbers: [(CURLOPT_HTTP09_ALLOWED, 0)], headers: request.headers + ["Expect:"])
    return WebAnswer(
      status: transfer.status, type: transfer.contentType, retryAfter: transfer.retryAfter,
      body: transfer.answer)
  }
}
