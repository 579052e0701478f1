internal import ArgumentParser
internal import Fleet
internal import FleetStore

/// The options for querying an external service for beacons that are not in the map. Without `--geolocate`,
/// no service is queried.
struct GeolocateArguments: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "Query a service for beacons with too few reports: https://HOST/v1/geolocate (default: none).",
      valueName: "url"))
  var geolocate: String?
  @Option(
    help: ArgumentHelp("File with the service's API key in its first line.", valueName: "file"),
    completion: .file())
  var geolocateKey: String?
  @Option(
    help: ArgumentHelp(
      "Cache file: positions for 90 days, unknown beacons for 30 (default: the map's name with .geolocate.sqlite).",
      valueName: "file"), completion: .file())
  var geolocateCache: String?
  @Option(
    help: ArgumentHelp("Maximum number of queries per day; at most one per second.", valueName: "count"))
  var geolocateDaily = 1000
}

extension GeolocateArguments {
  /// Returns the service to query.
  ///
  /// - Parameter output: the map's file.
  /// - Returns: nil if `--geolocate` is missing.
  /// - Throws: `FleetError` with the invalid or missing option.
  func service(beside output: String?) throws(FleetError) -> GeolocateService? {
    guard let url = geolocate else {
      guard geolocateKey == nil, geolocateCache == nil else {
        throw .usage("use", "--geolocate-key and --geolocate-cache", "no service is named; add --geolocate")
      }
      return nil
    }
    guard (1...1_000_000).contains(geolocateDaily) else {
      throw .usage("use", "--geolocate-daily \(geolocateDaily)", "must be 1 to 1000000")
    }
    let file = output.flatMap { $0 == "-" ? nil : $0 + ".geolocate.sqlite" }
    guard let cache = geolocateCache ?? file else {
      throw .usage(
        "ask", url.prefix { $0 != "?" }.prefix(100) + " without a file for its answers",
        "name a cache file with --geolocate-cache, or a map file with --output")
    }
    return GeolocateService(
      address: try GeolocateAddress(url, keyFile: geolocateKey), cache: cache,
      daily: geolocateDaily)
  }
}
