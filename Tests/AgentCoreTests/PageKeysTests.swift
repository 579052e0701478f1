import Foundation
import Settings
import Telemetry
import Testing

/// Keys mentioned in the documentation exist.
@Suite struct PageKeysTests {
  private static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent()

  @Test(arguments: [
    "README.md", "Config/troubleshooting.md", "Config/hardware.md", "Config/fleet.md", "Config/messages.md",
    "Config/mosquitto/README.md", "Config/examples/drive/README.md", "Config/examples/consumers/README.md",
  ])
  func pageKeysAreComplete(page: String) throws {
    let text = try String(contentsOf: Self.root.appending(path: page), encoding: .utf8)
    let tables = Set(ConfigurationKey.all.map { $0.path.prefix { $0 != "." } })
    for match in text.matches(of: /`([a-z]+)\.([a-z_]+)( = [^`]*)?`/) where tables.contains(match.1) {
      let path = "\(match.1).\(match.2)"
      // A file name such as `regions.geojson`.
      if ["geojson", "toml", "json", "csv", "sqlite"].contains(match.2) { continue }
      #expect(ConfigurationKey.byPath[path] != nil, "\(page) names \(path)")
    }
  }
}
