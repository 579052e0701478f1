/// Tells an error that a receiver stated from one that gpsd made up.
///
/// For receivers that state none, gpsd's `eph` is the horizontal dilution times a constant: 19 m, or 4.75 m for a
/// differential fix (`P_UERE_NO_DGPS` and `P_UERE_WITH_DGPS` of its libgpsd_core.c). The constant is the same for a
/// receiver of 1995 and for one with centimetres, so the dilution alone is taken, for a better model to judge.
struct DilutionGuess: Sendable {
  private static let constants = (plain: 19.0, differential: 4.75)
  /// Errors in a row that a stated one would not hit by chance: one in nineteen does, if it comes in centimetres.
  private static let needed = 4

  private var lastError: Double?
  private var hits = 0

  /// The dilution behind an error of gpsd; nil for one that the receiver stated, and while that is not clear.
  ///
  /// - Parameters:
  ///   - error: metres.
  ///   - hdop: the dilution that gpsd told of the sky; nil when it told none.
  mutating func dilution(behind error: Double?, isDifferential: Bool, hdop: Double?) -> Double? {
    guard let error, error > 0 else { return nil }
    let constant = isDifferential ? Self.constants.differential : Self.constants.plain
    if let hdop, hdop > 0 { return abs(error - constant * hdop) < 0.002 ? hdop : nil }
    // Receivers give a dilution in hundredths, and gpsd an error in millimetres.
    let hundredths = error / constant * 100
    guard hundredths >= 30, abs(hundredths - hundredths.rounded()) < 0.02 else {
      hits = 0
      lastError = error
      return nil
    }
    // Parked, the same dilution comes again and again, and proves nothing more.
    if error != lastError { hits = min(hits + 1, Self.needed) }
    lastError = error
    return hits >= Self.needed ? hundredths.rounded() / 100 : nil
  }
}
