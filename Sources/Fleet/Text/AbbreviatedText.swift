extension String {
  /// Returns the text with at most `limit` Unicode scalars. A longer text is cut after a word and ends with "…".
  ///
  /// Scalars are counted because one character can have any number of combining marks.
  package func abbreviated(to limit: Int) -> String {
    guard unicodeScalars.count > limit else { return self }
    let kept = unicodeScalars.prefix(max(0, limit - 1))
    // A word that is longer than half of the limit is cut within it.
    var end = kept.endIndex
    if unicodeScalars[end] != " ", let space = kept.lastIndex(of: " "),
      kept.distance(from: kept.startIndex, to: space) >= limit / 2
    {
      end = space
    }
    var text = String(String.UnicodeScalarView(kept[..<end]))
    while let last = text.unicodeScalars.last, " ,;:.".unicodeScalars.contains(last) {
      text.unicodeScalars.removeLast()
    }
    return text + "…"
  }
}
