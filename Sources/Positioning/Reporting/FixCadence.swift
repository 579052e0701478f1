internal import Glibc

/// The interval of a receiver's fixes and the distribution of its gaps, used to detect silence.
///
/// A gap is an interval in which at least one fix is missing. When a fix is missing, it is unknown whether
/// the gap ends soon or the receiver stays silent. Withdrawing the bound costs two reports if the gap then
/// ends: the withdrawal, and the report after it. Waiting costs the excursion that the vehicle can make while
/// subscribers display moments without a fix: an excursion by the bound counts as one report. `silence`
/// minimizes the expected cost over the newest gaps and one assumed silence without end. How often fixes are
/// missing has no influence, because the cost arises only in gaps.
struct FixCadence: Sendable {
  /// Display delay in s: moments are displayed only after it.
  private let delay: Double
  /// Bound in m.
  private let bound: Double
  /// Times in s between the newest fixes, oldest first.
  private var steps: [Double] = []
  /// Durations in s of the newest gaps, oldest first.
  private var gaps: [Double] = []
  /// Cheapest time in s without a fix before a withdrawal, by the observed gaps; 0 without gaps.
  private var learned = 0.0

  /// Number of intervals considered.
  private static let memory = 8
  /// Number of gaps considered.
  private static let gapMemory = 32
  /// Assumed interval in s before three were observed.
  private static let usual = 1.0
  /// Tolerated delay of a fix in s. Number of reports and share of the route with a valid bound, on the
  /// drives of `BoundedPromiseTests`: 244 and 0.651 for a delay of 0; 245 and 0.652 for 0.1 and 0.5; 251 and
  /// 0.645 for 1.
  private static let lateness = 0.25
  /// Number of reports for a withdrawal and the report after it.
  private static let withdrawal = 2.0

  init(delay: Double, bound: Double) {
    self.delay = delay
    self.bound = bound
  }

  mutating func observe(_ step: Double) {
    if isMissing(after: step) {
      if gaps.count >= Self.gapMemory { gaps.removeFirst() }
      // After a longer gap, the bound is withdrawn in any case.
      gaps.append(step <= GapPath.longest ? step : .infinity)
      learn()
    }
    if steps.count >= Self.memory { steps.removeFirst() }
    steps.append(step)
  }

  /// Interval in s of a receiver that omits no fix: the second shortest, because most intervals of a receiver
  /// that omits many fixes are longer. Of three or four intervals it is the shortest.
  var interval: Double { steps.count < 3 ? Self.usual : steps.sorted()[steps.count / 5] }

  /// Returns whether a fix is missing after a time in s without one.
  func isMissing(after seconds: Double) -> Bool { seconds > lateFix }

  /// Time in s without a fix after which the bound is withdrawn.
  var silence: Double { max(lateFix, learned) }

  /// Time in s after which the next fix is late. No bound applies in gaps that are too long to interpolate, so a
  /// slower receiver is not awaited.
  private var lateFix: Double { min(1.5 * interval, GapPath.longest) + Self.lateness }

  private mutating func learn() {
    var least = Self.withdrawal
    learned = 0
    let assumed = gaps + [.infinity]
    for silence in Set(gaps).map({ $0 + Self.lateness }).sorted() where silence.isFinite {
      let cost = assumed.reduce(0) { $0 + reports(for: $1, silence: silence) } / Double(assumed.count)
      if cost < least { (learned, least) = (silence, cost) }
    }
  }

  /// Returns the cost in reports of a gap under a silence time.
  private func reports(for gap: Double, silence: Double) -> Double {
    let unbacked = max(0, min(gap, silence) - max(delay, lateFix))
    // The expected excursion by manoeuvres on two axes.
    let excursion = 0.5 * 2.0.squareRoot() * VelocityEstimate.manoeuvre * unbacked * unbacked
    return (gap > silence ? Self.withdrawal : 0) + excursion / bound
  }
}
