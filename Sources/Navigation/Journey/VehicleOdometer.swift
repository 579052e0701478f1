/// A comparison with the vehicle's own odometer, which reports steps of a hundred metres or more.
///
/// The distance measured by Odograph interpolates between the steps: it is corrected to remain within the
/// vehicle's current step. The two distances are compared over each ten kilometres of the vehicle's odometer.
/// Instruments may deviate by 4 %, tyres of another size by more.
public struct VehicleOdometer: Hashable, Sendable {
  /// The relative difference of the measured distance to the vehicle's distance over the last ten kilometres.
  /// Nil if the difference is within 4 % or not yet known.
  public private(set) var disagreement: Double?
  /// The start of the current comparison.
  private var start: Start?

  /// An implausible vehicle reading in m that waits for confirmation by a second one; nil if there is none.
  private var doubted: Double?

  private struct Start: Hashable, Sendable {
    /// The vehicle's reading and Odograph's own distance at the start of the comparison, m.
    var vehicle, own: Double
  }

  /// The length of a comparison in m, by the vehicle's odometer.
  private static let stretch = 10_000.0
  private static let tolerance = 0.04
  /// The largest plausible difference in m between two messages. A larger difference means that the
  /// instruments were replaced, or that the value is invalid.
  private static let longestStep = 100_000.0
  /// The difference in m above which a reading must be confirmed by a second one. Units that start up, and
  /// some that answer for other units, send one invalid value.
  private static let farthest = 1000.0

  public init() {}

  /// Processes a reading of the vehicle's odometer.
  /// - Parameters:
  ///   - metres: the reading, rounded down to the step.
  ///   - step: the resolution in m.
  public mutating func process(metres: Double, step: Double, _ odometer: inout Odometer) {
    guard metres >= 0, metres <= OdometerState.farthest, step > 0, step <= Self.longestStep else { return }
    if odometer.reading < metres || odometer.reading > metres + step {
      let off = max(metres - odometer.reading, odometer.reading - metres - step)
      if off > Self.farthest, doubted.map({ abs(metres - $0) > step + Self.farthest }) ?? true {
        doubted = metres
        return
      }
      doubted = nil
      // The first reading is set to the middle of the step. A later reading is moved to the nearest end of
      // the step.
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
