// Finding a text in another. The standard library's own searches bring its regular expressions with them, a megabyte of
// the agent's program.

extension StringProtocol {
  /// Where a text that is not empty occurs first, byte for byte; nil where it does not.
  package func firstRange(ofText text: String) -> Range<Index>? {
    let (bytes, wanted) = (utf8, text.utf8)
    guard let first = wanted.first else { return nil }
    var start = bytes.startIndex
    while let found = bytes[start...].firstIndex(of: first) {
      if bytes[found...].starts(with: wanted) { return found..<bytes.index(found, offsetBy: wanted.count) }
      start = bytes.index(after: found)
    }
    return nil
  }

  /// Whether a text that is not empty occurs in it, byte for byte.
  package func contains(text: String) -> Bool { firstRange(ofText: text) != nil }
}
