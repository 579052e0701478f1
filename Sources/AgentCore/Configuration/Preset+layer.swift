internal import Telemetry

extension Preset {
  /// The TOML text, as it stands in `Config/presets`: the build puts those files into the program.
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

  /// What it sets, to go below every other layer.
  func layer() throws(ConfigurationError) -> ConfigurationLayer {
    try ConfigurationLayer(toml: text, name: "preset \(rawValue)")
  }

  /// The one that the first of the layers names which names any; else the usual one.
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
