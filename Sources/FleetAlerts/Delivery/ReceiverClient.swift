internal import Fleet
package import Spatial
internal import Transfers

/// A client that sends messages to one receiver, one after the other. Calls block; all must be made by one
/// thread.
package final class ReceiverClient {
  package enum Outcome: Hashable, Sendable {
    /// - Parameter refused: the recipients of a mail that the server rejected, with its responses; nil if it
    ///   accepted the mail for all of them. The mail is not sent to them again.
    case taken(String, refused: String? = nil)
    /// The message was not accepted, for the given reason. `after` is the retry delay in s that the receiver
    /// requested; nil if it requested none.
    /// - Parameter isRefusal: true if the receiver rejected the content of this message; other messages can
    ///   succeed.
    case failed(String, after: Double?, isRefusal: Bool = false)
    /// The program is stopping; it is unknown whether the receiver accepted the message.
    case left
  }

  private enum Transport {
    case web(WebTransfer, WebhookReceiver)
    case mail(MailTransfer, MailReceiver)
  }

  private let way: Transport

  /// Creates a client.
  ///
  /// - Parameters:
  ///   - receiver: the receiver.
  ///   - shouldContinue: called several times a second; a transfer is aborted if it returns false.
  /// - Returns: nil if libcurl is not available.
  package init?(_ receiver: Receiver, shouldContinue: @escaping () -> Bool) {
    switch receiver.way {
    case .webhook(let hook):
      guard let transfer = WebTransfer(Self.limits(hook.timeout), shouldContinue: shouldContinue) else {
        return nil
      }
      way = .web(transfer, hook)
    case .mail(let mail):
      var limits = Self.limits(mail.timeout)
      limits.verdict = Self.verdict
      guard let transfer = MailTransfer(limits, shouldContinue: shouldContinue) else { return nil }
      way = .mail(transfer, mail)
    }
  }

  /// The HTTP status codes that mean that the receiver rejects the content of a message.
  private static let refusals = [400, 413, 415, 422]

  /// The time limit in ms for a mail server's answer after it has received the complete mail, from RFC 5321
  /// (4.5.3.2.6). With a shorter limit, a mail could be sent again that the server has already accepted.
  private static let verdict = 600_000

  private static func limits(_ seconds: Double) -> TransferLimits {
    let total = Int(seconds * 1000)
    return TransferLimits(connect: min(5000, total), total: total, size: 1 << 16)
  }

  /// Sends a message.
  ///
  /// - Parameters:
  ///   - message: the message.
  ///   - attempt: the number of this attempt, from 1.
  ///   - time: the current time, which is part of the signature.
  package func deliver(_ message: AlertMessage, attempt: Int, at time: UTCTime) -> Outcome {
    do throws(TransferFailure) {
      switch way {
      case .web(let transfer, let hook):
        return try post(message, attempt: attempt, at: time, by: transfer, to: hook)
      case .mail(let transfer, let mail):
        let refused = try transfer.send(
          Letter.text(
            from: mail.sender, to: mail.recipients, subject: message.subject, body: message.body,
            key: message.key, at: message.created), from: mail.sender, to: mail.recipients, by: mail.server)
        return .taken(
          "accepted by \(mail.server.url)",
          refused: refused.isEmpty
            ? nil : refused.map { "\($0.address) (\($0.response))" }.joined(separator: ", "))
      }
    } catch {
      // The status code is valid even if the rest of the response is too long.
      if case .web(let transfer, _) = way, error.kind == .tooLong {
        return 200...299 ~= transfer.status
          ? .taken("status \(transfer.status)")
          : .failed(
            "it answers with status \(transfer.status)", after: nil,
            isRefusal: Self.refusals.contains(transfer.status))
      }
      if error.kind == .interrupted { return .left }
      if case .mail(let transfer, _) = way, let status = transfer.refusal {
        return .failed("it rejected the mail (\(status))", after: nil, isRefusal: true)
      }
      return .failed(error.text, after: nil)
    }
  }

  private func post(
    _ message: AlertMessage, attempt: Int, at time: UTCTime, by transfer: WebTransfer,
    to hook: WebhookReceiver
  ) throws(TransferFailure) -> Outcome {
    let seconds = Int(time.nanoseconds / 1_000_000_000)
    var headers = [
      "Content-Type: application/json", "Idempotency-Key: \(message.key)", "Odograph-Attempt: \(attempt)",
    ]
    if let secret = hook.secret {
      guard let signature = Signature.hex(of: message.body, timestamp: seconds, secret: secret) else {
        return .failed("the message cannot be signed", after: nil)
      }
      headers += ["Odograph-Timestamp: \(seconds)", "Odograph-Signature: sha256=\(signature)"]
    }
    let answer = try transfer.post(
      WebRequest(
        url: hook.url, headers: headers, body: String(decoding: message.body, as: UTF8.self),
        isDirect: hook.isLocal, authorities: hook.authorities))
    switch answer.status {
    case 200...299: return .taken("status \(answer.status)")
    case 300...399:
      return .failed(
        "it redirects to another address (\(answer.status)); if that address is correct, configure it",
        after: answer.retryAfter)
    case 401, 403:
      return .failed(
        "access denied (\(answer.status)); check secret_file", after: answer.retryAfter)
    default:
      return .failed(
        "it answers with status \(answer.status)", after: answer.retryAfter,
        isRefusal: Self.refusals.contains(answer.status))
    }
  }
}
