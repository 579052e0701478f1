package import Spatial

extension Receiver {
  /// The outcome of a test message.
  package enum TestOutcome: Hashable, Sendable {
    /// The receiver's answer.
    case accepted(String)
    /// The reason.
    case failed(String)
    case interrupted
  }

  /// Sends a test message once. Blocks until the receiver has answered.
  /// - Parameter shouldContinue: called several times a second; the transfer is aborted if it returns false.
  package func test(at now: UTCTime, shouldContinue: @escaping () -> Bool) -> TestOutcome {
    let key = "test-" + String(UInt64.random(in: 0 ... .max), radix: 16)
    let text = AlertText.test(key, at: now)
    let isMail = if case .mail = way { true } else { false }
    let message = AlertMessage(
      number: 0, receiver: name, key: key, created: now, subject: text.subject,
      body: isMail ? text.letter : text.json, vehicles: [])
    switch ReceiverClient(self, shouldContinue: shouldContinue)?.deliver(message, attempt: 1, at: now) {
    case .taken(let answer, let refused):
      return refused.map { .failed("the mail server rejected recipients: \($0)") } ?? .accepted(answer)
    case .failed(let reason, _, _): return .failed(reason)
    case .left: return .interrupted
    case nil: return .failed("libcurl cannot be used")
    }
  }
}
