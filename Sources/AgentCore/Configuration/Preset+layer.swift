internal import Settings
internal import Telemetry

extension Preset {
  /// Text of the TOML file in `Config/presets`, which is embedded in the program.
  package var text: String {
    let bytes =
      switch self {
      case .car: PackageResources.car_toml
      case .truck: PackageResources.truck_toml
      case .assetTracker: PackageResources.asset_tracker_toml
      case .person: PackageResources.person_toml
      case .testBench: PackageResources.test_bench_toml
      }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Returns the preset's values as the layer with the lowest priority.
  package func layer() throws(ConfigurationError) -> ConfigurationLayer {
    try ConfigurationLayer(toml: text, name: "preset \(rawValue)")
  }

  /// Returns the preset named by the first layer that names one; otherwise the default preset.
  init(chosenBy layers: [ConfigurationLayer]) {
    let named = layers.lazy.compactMap { $0[Self.key]?.value }.first
    guard case .text(let name)? = named, let preset = Preset(rawValue: name) else {
      self = .usual
      return
    }
    self = preset
  }

  private static let key = "preset"
}
