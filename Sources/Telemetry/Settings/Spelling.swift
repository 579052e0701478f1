/// Suggests names for misspelt ones.
package enum Spelling {
  /// Returns the closest name within three edits, or within half of a short name's length; nil if none is
  /// that close.
  package static func nearest(to name: String, among names: some Sequence<String>) -> String? {
    let most = min(3, max(1, name.utf8.count / 2))
    return names.map { ($0, distance($0, name)) }.min { $0.1 < $1.1 }.flatMap { $0.1 <= most ? $0.0 : nil }
  }

  /// Returns the number of edits between the beginnings of two words; swapping two neighbours counts as one
  /// (optimal string alignment, after F. Damerau, 1964).
  private static func distance(_ a: String, _ b: String) -> Int {
    let (a, b) = (Array(a.utf8.prefix(64)), Array(b.utf8.prefix(64)))
    var before: [Int] = []
    var row = Array(0...b.count)
    for i in a.indices {
      var next = [i + 1]
      for j in b.indices {
        var least = min(row[j] + (a[i] == b[j] ? 0 : 1), row[j + 1] + 1, next[j] + 1)
        if i > 0, j > 0, a[i] == b[j - 1], a[i - 1] == b[j] { least = min(least, before[j - 1] + 1) }
        next.append(least)
      }
      (before, row) = (row, next)
    }
    return row[b.count]
  }
}
