/// A ready configuration for a kind of vehicle. What differs from it is all that a configuration file has to say.
///
/// The settings themselves are the files of `Config/presets`, which `odographd` has inside.
package enum Preset: String, Sendable, CaseIterable {
  case car
  case truck
  case assetTracker = "asset-tracker"
  case person
  case testBench = "test-bench"

  /// The one of a configuration that names none: the keys' defaults are its settings.
  package static let usual = Preset.car

  /// For whoever chooses, in a few words.
  package var purpose: String {
    switch self {
    case .car: "power from its socket; shown live within 20 m"
    case .truck: "on the road all day; live within 50 m, tracks within 10 m"
    case .assetTracker: "trailer or container on a battery; where it is, for months"
    case .person: "on foot, tracker in the pocket; within 30 m"
    case .testBench: "no sensor: a simulated drive that tells everything"
    }
  }
}
