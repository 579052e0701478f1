package import Fleet
package import Spatial

/// An alert: a rule's condition was satisfied for a vehicle. It lasts until the condition ends; instantaneous
/// events are already over.
package struct Alert: Hashable, Sendable {
  /// The number of the alert in its store, from 1; never reused.
  package var number: Int64
  package var rule: String
  package var vehicle: VehicleKey
  /// The region or event concerned; empty for the vehicle as a whole. Untrusted text, not escaped for a
  /// terminal.
  package var subject: String
  package var severity: Severity
  /// A short description. Untrusted text, like the subject.
  package var summary: String
  package var began: UTCTime
  /// The end; nil while the alert is open.
  package var ended: UTCTime?
  /// The vehicle's position at the start; nil if unknown.
  package var place: Coordinate?
  /// The value compared with the rule's limit, in the rule's unit; nil for rules without a value.
  package var value: Double?
  /// The reason why it ended before its condition; nil while it is open or if the condition ended.
  package var reason: EndReason?
}

/// A reason other than the condition for the end of an alert. The raw values are stored and published.
package enum EndReason: String, Hashable, Sendable, CaseIterable {
  /// The vehicle was removed: its retained messages were deleted.
  case forgotten
  /// The rule was removed or no longer covers the vehicle.
  case rule
  /// The operator ended it.
  case byHand = "operator"

  /// The text after "ended: ".
  var words: String {
    switch self {
    case .forgotten: "the vehicle was removed"
    case .rule: "the rule was changed or removed"
    case .byHand: "by an operator"
    }
  }
}

/// A change of an alert.
package enum AlertChange: Hashable, Sendable {
  case began(Alert)
  case ended(Alert)
  /// An event that started and ended immediately.
  case happened(Alert)

  package var alert: Alert {
    switch self {
    case .began(let alert), .ended(let alert), .happened(let alert): alert
    }
  }

  package var transition: Transition {
    switch self {
    case .began: .began
    case .ended: .ended
    case .happened: .happened
    }
  }
}

/// A reported transition of an alert. The raw values are stored and published.
package enum Transition: String, Hashable, Sendable, CaseIterable {
  case began, ended, happened
}
