/// A sentence about a running recorder, for the operator.
package struct RecordNotice: Hashable, Sendable {
  package var text: String
  /// True if the recorder works as configured; false if a problem delays or prevents recording.
  package var isRoutine: Bool

  package init(_ text: String, isRoutine: Bool = false) { (self.text, self.isRoutine) = (text, isRoutine) }
}
