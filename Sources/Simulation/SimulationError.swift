/// Why a simulation cannot be set up: the caller's mistake, found before anything runs.
public enum SimulationError: Error, Hashable, Sendable, CustomStringConvertible {
  /// A waypoint cannot be driven; waypoints count from 0.
  case waypoint(Int, problem: String)
  /// The route as a whole cannot be driven.
  case route(problem: String)
  /// A field of `SimulatedDrive.Configuration` is out of its range.
  case configuration(field: String, problem: String)

  public var description: String {
    switch self {
    case .waypoint(let index, let problem): "simulated route, waypoint \(index): \(problem)"
    case .route(let problem): "simulated route: \(problem)"
    case .configuration(let field, let problem): "simulation setting \(field): \(problem)"
    }
  }
}
