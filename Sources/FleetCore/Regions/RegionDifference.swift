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
    case .missing: "wanted, not reported"
    case .extra: "reported, not wanted"
    case .changed: "reported with another outline"
    }
  }

  /// In the order of what is wanted, then of what is reported.
  static func between(wanted: RegionDocument, reported: RegionDocument) -> [RegionDifference] {
    var differences: [RegionDifference] = []
    for feature in wanted.features {
      guard let other = reported[feature.identifier] else {
        differences.append(RegionDifference(identifier: feature.identifier, kind: .missing))
        continue
      }
      // A report may leave the outline out; only one that is told and differs is a difference.
      if let mine = feature.shape, let theirs = other.shape, mine.outline != theirs.outline {
        differences.append(RegionDifference(identifier: feature.identifier, kind: .changed))
      }
    }
    for feature in reported.features where wanted[feature.identifier] == nil {
      differences.append(RegionDifference(identifier: feature.identifier, kind: .extra))
    }
    return differences
  }
}
