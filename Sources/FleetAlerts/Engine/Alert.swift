package import Fleet
package import Spatial

/// That a rule's condition held of a vehicle: from its beginning to its end, or at once over for what just happens.
package struct Alert: Hashable, Sendable {
  /// Counts from 1 in a store; each number is used once.
  package var number: Int64
  package var rule: String
  package var vehicle: VehicleKey
  /// The region or event that it is of; empty for a vehicle as a whole. From the wire: not made harmless for a terminal.
  package var subject: String
  package var severity: Severity
  /// A few words for people. From the wire, as the subject.
  package var summary: String
  package var began: UTCTime
  /// nil while it is open.
  package var ended: UTCTime?
  /// Where the vehicle was when it began; nil where that was not known.
  package var place: Coordinate?
  /// What was compared with the rule's limit, in the rule's unit; nil where nothing is.
  package var value: Double?
  /// Why it ended before its condition did; nil where that ended it, and while it is open.
  package var reason: EndReason?
}

/// What ends an alert beside its condition. The raw values are on disk and on the wire.
package enum EndReason: String, Hashable, Sendable, CaseIterable {
  /// What the broker keeps of the vehicle was deleted: it was retired.
  case forgotten
  /// No rule asks for it any more.
  case rule
  /// Somebody has ended it.
  case byHand = "operator"

  /// For people, behind "ended: ".
  var words: String {
    switch self {
    case .forgotten: "the vehicle was taken out of the fleet"
    case .rule: "no rule asks for it any more"
    case .byHand: "by an operator"
    }
  }
}

/// What has become of an alert.
package enum AlertChange: Hashable, Sendable {
  case began(Alert)
  case ended(Alert)
  /// It began and was over at once.
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

/// What is told of an alert. The raw values are on disk and on the wire.
package enum Transition: String, Hashable, Sendable, CaseIterable {
  case began, ended, happened
}
