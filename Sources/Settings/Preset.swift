/// A predefined configuration for a kind of vehicle. A configuration file contains only the differences from
/// its preset.
///
/// The settings of the presets are the files of `Config/presets`, which are embedded in `odographd`.
package enum Preset: String, Sendable, CaseIterable {
  case car
  case truck
  case assetTracker = "asset-tracker"
  case person
  case testBench = "test-bench"

  /// Preset of a configuration that names no preset. Its settings are the defaults of the keys.
  package static let usual = Preset.car

  /// Short description that helps users to choose a preset.
  package var purpose: String {
    switch self {
    case .car: "power from its socket; shown live within 20 m"
    case .truck: "on the road all day; live within 50 m, tracks within 10 m"
    case .assetTracker: "trailer or container on a battery; where it is, for months"
    case .person: "on foot, tracker in the pocket; within 30 m"
    case .testBench: "no sensor: a simulated drive that publishes everything"
    }
  }
}
