internal import CCurl
internal import Platform

/// How letters are sent.
package struct MailServer: Hashable, Sendable {
  /// `smtp://host:port` or `smtps://host:port`.
  package var url: String
  /// Whether nothing is sent before the connection is encrypted (STARTTLS).
  package var requiresEncryption: Bool
  /// nil for a server that wants none.
  package var user: String?
  package var password: String?
  /// Certificates to trust in place of the system's; nil for those.
  package var authorities: String?

  package init(
    url: String, requiresEncryption: Bool = true, user: String? = nil, password: String? = nil,
    authorities: String? = nil
  ) {
    (self.url, self.requiresEncryption) = (url, requiresEncryption)
    (self.user, self.password, self.authorities) = (user, password, authorities)
  }
}

/// Sends letters by SMTP, one after the other. Blocks: not for the cooperative pool.
package final class MailTransfer {
  private let transfer: CurlTransfer
  private let limits: TransferLimits

  /// - Parameter goesOn: asked some times a second; when it says no, the letter is left.
  /// - Returns: nil when the library cannot be used.
  package init?(_ limits: TransferLimits = TransferLimits(), goesOn: @escaping () -> Bool) {
    guard let transfer = CurlTransfer(limits, goesOn: goesOn) else { return nil }
    (self.transfer, self.limits) = (transfer, limits)
  }

  /// The server's status where it has read the last letter and does not want it, for good (RFC 5321, 4.2.1); nil for any other failure.
  package var refusal: Int? {
    transfer.isUploaded && 500...599 ~= transfer.status ? transfer.status : nil
  }

  /// - Parameters:
  ///   - sender: an address without a name.
  ///   - letter: head and body as RFC 5322 has them, lines ended by CR LF.
  /// - Throws: `TransferFailure` for a letter that was not taken.
  package func send(
    _ letter: [UInt8], from sender: String, to recipients: [String], by server: MailServer
  ) throws(TransferFailure) {
    var texts: [(CURLoption, String)] = [
      (CURLOPT_URL, server.url), (CURLOPT_PROTOCOLS_STR, "smtp,smtps"), (CURLOPT_PROXY, ""),
      (CURLOPT_MAIL_FROM, "<\(sender)>"),
    ]
    if let user = server.user { texts.append((CURLOPT_USERNAME, user)) }
    if let password = server.password { texts.append((CURLOPT_PASSWORD, password)) }
    if let authorities = server.authorities { texts.append((CURLOPT_CAINFO, authorities)) }
    let encryption = server.requiresEncryption ? CURLUSESSL_ALL : CURLUSESSL_TRY
    try transfer.perform(
      texts: texts,
      numbers: [
        (CURLOPT_USE_SSL, Int(encryption.rawValue)), (CURLOPT_UPLOAD, 1), (CURLOPT_MAIL_RCPT_ALLLOWFAILS, 1),
        // libcurl's own is two minutes.
        (CURLOPT_SERVER_RESPONSE_TIMEOUT, max(120, (limits.total + limits.verdict) / 1000)),
      ],
      recipients: recipients.map { "<\($0)>" }, upload: letter)
  }
}
