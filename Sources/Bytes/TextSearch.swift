// Substring search. That of the standard library links its regular expressions, which add 1 MB to the agent's
// binary.

extension StringProtocol {
  /// Returns the first range of a non-empty text, compared byte by byte; nil if it does not occur.
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

  /// Returns whether the string contains a non-empty text, compared byte by byte.
  package func contains(text: String) -> Bool { firstRange(ofText: text) != nil }
}
