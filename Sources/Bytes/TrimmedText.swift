extension StringProtocol {
  /// Returns the text without spaces and tabs at its start and end.
  package func trimmingSpaces() -> SubSequence {
    let isSpace: (Character) -> Bool = { $0 == " " || $0 == "\t" }
    guard let first = firstIndex(where: { !isSpace($0) }), let last = lastIndex(where: { !isSpace($0) })
    else {
      return self[endIndex...]
    }
    return self[first...last]
  }
}
