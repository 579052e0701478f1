internal import JSON
internal import Platform

/// A writer of a response on a reader's thread, piece by piece.
package final class AnswerWriter {
  var json = JSONWriter(capacity: 16_384)
  private let pipe: AnswerPipe
  /// The deadline.
  private let deadline: MonotonicTime
  /// True after the first piece.
  private(set) var hasBegun = false
  private var hash = ContentTag.Hash()

  /// The size of a piece in bytes.
  private static let portion = 64 << 10

  init(_ pipe: AnswerPipe, deadline: MonotonicTime) { (self.pipe, self.deadline) = (pipe, deadline) }

  /// True while the request is waiting and the deadline has not passed.
  var shouldContinue: Bool { !pipe.isCancelled && !deadline.hasPassed }

  /// Sends the buffered bytes if there are many.
  /// - Throws: `CancellationError` if the request was cancelled, `WebError` if too many responses are
  ///   waiting.
  func flushIfLarge() throws {
    if json.bytes.count >= Self.portion { try flush() }
  }

  private func flush() throws {
    let bytes = json.takeBytes()
    if !bytes.isEmpty { try hand(bytes) }
  }

  private func hand(_ bytes: [UInt8]) throws {
    guard shouldContinue else { throw CancellationError() }
    hash.combine(bytes)
    try pipe.put(bytes)
    hasBegun = true
  }

  /// Sends a complete document.
  /// - Throws: the same errors as `flushIfLarge`.
  func write(_ document: [UInt8]) throws {
    try flush()
    for start in stride(from: 0, to: document.count, by: Self.portion) {
      try hand(Array(document[start..<min(start + Self.portion, document.count)]))
    }
  }

  func finish() throws {
    try flush()
    pipe.finish(tag: hash.text)
  }
}
