/// How exact locations are wanted, in Core Location's tiers. It drives the hardware and is not a filter: what a receiver
/// says is told however exact it is, only `reduced` coarsens it.
public enum DesiredAccuracy: String, Hashable, Sendable, CaseIterable {
  /// The best there is, with every sensor that helps and no sleep, whatever that costs.
  case bestForNavigation
  /// The best of the receiver.
  case best
  case nearestTenMeters
  case hundredMeters
  case kilometer
  case threeKilometers
  /// Approximate on purpose: the position is snapped to a grid of some kilometres, so that it does not tell an address.
  case reduced

  /// Metres of error that are good enough; nil for the best there is.
  public var meters: Double? {
    switch self {
    case .bestForNavigation, .best: nil
    case .nearestTenMeters: 10
    case .hundredMeters: 100
    case .kilometer: 1000
    case .threeKilometers: 3000
    case .reduced: Location.reducedAccuracy
    }
  }
}
