package import Fleet
package import Spatial

/// An alert: the condition of a rule was satisfied for a vehicle. It is open until the condition ends. An
/// alert for an instantaneous event starts and ends at the same time.
package struct Alert: Hashable, Sendable {
  /// The number of the alert in its store, from 1; numbers are never reused.
  package var number: Int64
  package var rule: String
  package var vehicle: VehicleKey
  /// The region or event that the alert concerns; empty if it concerns the vehicle as a whole. Untrusted
  /// text, not escaped for a terminal.
  package var subject: String
  package var severity: Severity
  /// A short description. Untrusted text, like the subject.
  package var summary: String
  /// The remedy that the vehicle reported with a failure; nil if there is none. Untrusted text.
  package var remedy: String?
  package var began: UTCTime
  /// The time at which the alert ended; nil while it is open.
  package var ended: UTCTime?
  /// The vehicle's position at the start of the alert; nil if unknown.
  package var place: Coordinate?
  /// The value compared with the rule's limit, in the rule's unit; nil for rules without a value.
  package var value: Double?
  /// The reason why the alert ended although its condition had not; nil while it is open, and if the
  /// condition ended.
  package var reason: EndReason?
  /// The time at which the service noticed the start of the alert or, after its end, the end. It is later than the
  /// event if the vehicle's message was delayed. Nil for an alert of an earlier version.
  package var noticed: UTCTime?
}

/// A reason for which an alert ends although its condition has not. The raw values are stored and published.
package enum EndReason: String, Hashable, Sendable, CaseIterable {
  /// The vehicle was removed, because its retained messages were deleted.
  case forgotten
  /// The rule was removed, or does not apply to the vehicle any more.
  case rule
  /// An operator ended the alert.
  case byHand = "operator"

  /// The reason in words, as in "ended: the vehicle was removed".
  package var words: String {
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
  /// An alert for an instantaneous event, which has started and ended.
  case happened(Alert)

  package var alert: Alert {
    switch self {
    case .began(let alert), .ended(let alert), .happened(let alert): alert
    }
  }

  package var transition: AlertTransition {
    switch self {
    case .began: .began
    case .ended: .ended
    case .happened: .happened
    }
  }
}

/// The transition of an alert that a message reports. The raw values are stored and published.
package enum AlertTransition: String, Hashable, Sendable, CaseIterable {
  case began, ended, happened
}
