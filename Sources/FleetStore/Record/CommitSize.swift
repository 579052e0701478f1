/// After how many messages a commit does not wait for more: learns what there is to wait for. Pure.
///
/// A broker lets so many messages be under way (EMQX, unless told otherwise, 32) and sends no others until those
/// are acknowledged, which they are after the commit: waiting for more is waiting for nothing then.
struct CommitSize: Hashable {
  /// Never above this.
  let most: Int
  private(set) var enough: Int
  /// Commits in a row that had enough.
  private var streak = 0

  /// So many commits with enough, and it is tried whether there is more.
  private static let trial = 32

  init(most: Int) {
    self.most = most
    enough = most
  }

  /// A commit took so many messages.
  /// - Parameter isExhausted: no more came for a while.
  mutating func took(_ count: Int, isExhausted: Bool) {
    if isExhausted {
      (enough, streak) = (min(max(1, count), most), 0)
      return
    }
    streak += 1
    enough = min(max(enough, count), most)
    guard streak >= Self.trial else { return }
    (enough, streak) = (min(2 * enough, most), 0)
  }
}
