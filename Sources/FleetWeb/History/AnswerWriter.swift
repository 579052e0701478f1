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
  private var hash = ContentTag.Hash()

  /// Bytes that are handed over at once.
  private static let portion = 64 << 10

  init(_ pipe: AnswerPipe, deadline: Int64) { (self.pipe, self.deadline) = (pipe, deadline) }

  /// Whether somebody still waits, and there is time.
  var goesOn: Bool { !pipe.isCancelled && SystemClock.monotonic < deadline }

  /// Hands over what there is when it is much.
  /// - Throws: `CancellationError` when nobody waits for more, `WebError` when too much waits for clients.
  func flushIfLarge() throws {
    if json.bytes.count >= Self.portion { try flush() }
  }

  private func flush() throws {
    let bytes = json.takeBytes()
    if !bytes.isEmpty { try hand(bytes) }
  }

  private func hand(_ bytes: [UInt8]) throws {
    guard goesOn else { throw CancellationError() }
    hash.combine(bytes)
    try pipe.put(bytes)
    hasBegun = true
  }

  /// Hands over a document that is whole.
  /// - Throws: as `flushIfLarge`.
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
