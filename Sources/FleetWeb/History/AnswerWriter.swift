internal import JSON
internal import Platform

/// Writes an answer piece by piece, on a reader's thread.
final class AnswerWriter {
  var json = JSONWriter(capacity: 16_384)
  private let pipe: AnswerPipe
  /// On `SystemClock.monotonic`, ns.
  private let deadline: Int64
  /// Whether anything was handed over.
  private(set) var hasBegun = false

  /// Bytes that are handed over at once.
  private static let portion = 64 << 10

  init(_ pipe: AnswerPipe, deadline: Int64) { (self.pipe, self.deadline) = (pipe, deadline) }

  /// Whether somebody still waits, and there is time.
  var goesOn: Bool { !pipe.isCancelled && SystemClock.monotonic < deadline }

  /// Hands over what there is when it is much.
  /// - Throws: `CancellationError` when nobody waits for more.
  func flushIfLarge() throws {
    if json.bytes.count >= Self.portion { try flush() }
  }

  private func flush() throws {
    let bytes = json.takeBytes()
    guard !bytes.isEmpty else { return }
    hasBegun = true
    guard pipe.put(bytes, until: deadline) else { throw CancellationError() }
  }

  /// Hands over a document that is whole.
  /// - Throws: as `flushIfLarge`.
  func write(_ document: [UInt8]) throws {
    try flush()
    var start = 0
    while start < document.count {
      let end = min(start + Self.portion, document.count)
      hasBegun = true
      guard pipe.put(Array(document[start..<end]), until: deadline) else { throw CancellationError() }
      start = end
    }
  }

  func finish() throws {
    try flush()
    pipe.finish()
  }
}
