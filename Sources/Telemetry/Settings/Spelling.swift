/// Guesses what a misspelt name was meant to be.
package enum Spelling {
  /// The nearest of the names within three edits, of a short one within half of its length; nil when none is so near.
  package static func nearest(to name: String, among names: some Sequence<String>) -> String? {
    let most = min(3, max(1, name.utf8.count / 2))
    return names.map { ($0, distance($0, name)) }.min { $0.1 < $1.1 }.flatMap { $0.1 <= most ? $0.0 : nil }
  }

  /// Levenshtein's distance between the beginnings of two words.
  private static func distance(_ a: String, _ b: String) -> Int {
    let (a, b) = (Array(a.utf8.prefix(64)), Array(b.utf8.prefix(64)))
    var row = Array(0...b.count)
    for (i, x) in a.enumerated() {
      var diagonal = row[0]
      row[0] = i + 1
      for (j, y) in b.enumerated() {
        let substitution = diagonal + (x == y ? 0 : 1)
        diagonal = row[j + 1]
        row[j + 1] = min(substitution, row[j] + 1, row[j + 1] + 1)
      }
    }
    return row[b.count]
  }
}
