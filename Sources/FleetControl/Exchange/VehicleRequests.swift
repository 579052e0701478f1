/// What is known of a vehicle that was to be told something, and from which nothing has come.
enum PendingReport {
  static let unanswered = "has not reported; it will read this when it is back"
  /// Also where the command was interrupted: what is under way may still arrive.
  static let unsent = "not known to be sent: the broker has not confirmed it"

  /// How long vehicles and broker have. A time that somebody gives holds; with no time for reports, what was sent has to
  /// arrive at the broker at least.
  /// - Parameter timeout: seconds, as given; 0 does not wait for reports.
  static func patience(timeout: Double) -> Double { timeout == 0 ? 15 : timeout }
}
