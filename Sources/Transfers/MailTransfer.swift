internal import CCurl
internal import Platform

/// A mail server and its credentials.
package struct MailServer: Hashable, Sendable {
  /// `smtp://host:port` or `smtps://host:port`.
  package var url: String
  /// True to require an encrypted connection (STARTTLS) before anything is sent.
  package var requiresEncryption: Bool
  /// The user name; nil for a server without authentication.
  package var user: String?
  package var password: String?
  /// The trusted certificates; nil for those of the system.
  package var authorities: String?

  package init(
    url: String, requiresEncryption: Bool = true, user: String? = nil, password: String? = nil,
    authorities: String? = nil
  ) {
    (self.url, self.requiresEncryption) = (url, requiresEncryption)
    (self.user, self.password, self.authorities) = (user, password, authorities)
  }
}

/// A client that sends mails by SMTP, one after the other. Blocks, so it must not run on the cooperative
/// pool.
package final class MailTransfer {
  private let transfer: CurlTransfer
  private let limits: TransferLimits

  /// Creates a client.
  ///
  /// - Parameter shouldContinue: called several times a second; the mail is aborted if it returns false.
  /// - Returns: nil if libcurl cannot be initialized.
  package init?(_ limits: TransferLimits = TransferLimits(), shouldContinue: @escaping () -> Bool) {
    guard let transfer = CurlTransfer(limits, shouldContinue: shouldContinue) else { return nil }
    (self.transfer, self.limits) = (transfer, limits)
  }

  /// The server's status if it received the last mail and rejected it permanently (RFC 5321, 4.2.1); nil for
  /// any other failure.
  package var refusal: Int? {
    transfer.isUploaded && 500...599 ~= transfer.status ? transfer.status : nil
  }

  /// A recipient that the server rejected.
  package struct RefusedRecipient: Hashable, Sendable {
    package var address: String
    /// The server's response, such as "550 no such user". Untrusted text.
    package var response: String
  }

  /// Sends a mail.
  ///
  /// - Parameters:
  ///   - sender: an address without a name.
  ///   - letter: header and body in the format of RFC 5322, with CR LF line endings.
  /// - Returns: the recipients that the server rejected. It has accepted the mail for the others.
  /// - Throws: `TransferFailure` if the mail was not accepted for any recipient.
  package func send(
    _ letter: [UInt8], from sender: String, to recipients: [String], by server: MailServer
  ) throws(TransferFailure) -> [RefusedRecipient] {
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
        // The time limit for a response is at least 120 s, the default of libcurl.
        (CURLOPT_SERVER_RESPONSE_TIMEOUT, max(120, (limits.total + limits.verdict) / 1000)),
      ],
      recipients: recipients.map { "<\($0)>" }, upload: letter)
    return Self.refused(recipients, in: transfer.responses)
  }

  /// Returns the rejected recipients. The responses to RCPT, one for each recipient in order, are the last ones
  /// before 354, the response to DATA (RFC 5321, 4.3.2).
  private static func refused(_ recipients: [String], in responses: [UInt8]) -> [RefusedRecipient] {
    let lines = String(decoding: responses, as: UTF8.self).split(whereSeparator: \.isNewline)
    // The last line of a response has no hyphen after its status.
    let last = lines.filter { $0.prefix(3).allSatisfy(\.isNumber) && $0.dropFirst(3).first != "-" }
    guard let start = last.firstIndex(where: { $0.hasPrefix("354") }), start >= recipients.count else {
      return []
    }
    return zip(recipients, last[(start - recipients.count)..<start]).compactMap { address, response in
      response.hasPrefix("2")
        ? nil : RefusedRecipient(address: address, response: String(response.prefix(200)))
    }
  }
}
