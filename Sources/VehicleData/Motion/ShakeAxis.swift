/// The line of a shake: along gravity or across it, whichever is closer.
public enum ShakeAxis: String, Hashable, Sendable, CaseIterable {
  case horizontal
  case vertical
}
