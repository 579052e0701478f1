/// A region that is wanted and not watched, watched and not wanted, or watched with another outline.
struct RegionDifference: Hashable, Sendable {
  enum Kind: String, Hashable, Sendable {
    case missing
    case extra
    case changed
  }

  var identifier: String
  var kind: Kind

  var sign: String {
    switch kind {
    case .missing: "+"
    case .extra: "-"
    case .changed: "~"
    }
  }

  var text: String {
    switch kind {
    case .missing: "wanted, not watched"
    case .extra: "watched, not wanted"
    case .changed: "watched with another outline, or not reported since it was changed"
    }
  }
}
