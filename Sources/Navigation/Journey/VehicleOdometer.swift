/// Follows the odometer of the vehicle's own instruments, which tells whole steps of a hundred metres or more, and says where the
/// two disagree.
///
/// What is measured here fills the steps in between: the reading is held within the step that the vehicle tells. Over each ten
/// kilometres by the vehicle both ways are compared. Instruments may be wrong by 4 %, tyres of another size are by more.
public struct VehicleOdometer: Hashable, Sendable {
  /// By what share of the vehicle's way more (or, negative, less) is measured here, on the last ten kilometres; nil where both agree
  /// within 4 %, and before that is known.
  public private(set) var disagreement: Double?
  /// Where the comparison under way began.
  private var start: Start?

  /// Metres by the vehicle that are far from what is known, until it says them again.
  private var doubted: Double?

  private struct Start: Hashable, Sendable {
    /// Metres by the vehicle, and as measured here.
    var vehicle, own: Double
  }

  /// Metres by the vehicle over which both are compared.
  private static let stretch = 10_000.0
  private static let tolerance = 0.04
  /// Metres that a vehicle does not go between two messages: its instruments were replaced, or told nonsense.
  private static let longestStep = 100_000.0
  /// Metres off which one word is not enough: units that start, and some that answer for others, tell nonsense once.
  private static let farthest = 1000.0

  public init() {}

  /// Takes what the vehicle's odometer tells.
  /// - Parameters:
  ///   - metres: rounded down to the step.
  ///   - step: metres.
  public mutating func process(metres: Double, step: Double, _ odometer: inout Odometer) {
    guard metres >= 0, metres <= OdometerState.farthest, step > 0, step <= Self.longestStep else { return }
    if odometer.reading < metres || odometer.reading > metres + step {
      let off = max(metres - odometer.reading, odometer.reading - metres - step)
      if off > Self.farthest, doubted.map({ abs(metres - $0) > step + Self.farthest }) ?? true {
        doubted = metres
        return
      }
      doubted = nil
      // The first time anywhere within the step; later at the end of it that was passed.
      let reading =
        start == nil ? metres + step / 2 : min(max(odometer.reading, metres), metres + step)
      odometer.set(reading: reading)
    }
    guard let start, metres >= start.vehicle, metres - start.vehicle < Self.longestStep else {
      self.start = Start(vehicle: metres, own: odometer.distance)
      return
    }
    let way = metres - start.vehicle
    guard way >= Self.stretch else { return }
    let share = (odometer.distance - start.own) / way - 1
    disagreement = abs(share) > Self.tolerance + step / way ? share : nil
    self.start = Start(vehicle: metres, own: odometer.distance)
  }
}
