internal import Positioning
internal import Spatial

extension PrivacyPolicy {
  init(_ reader: ConfigurationReader) throws(ConfigurationError) {
    let accuracy = try reader.number("privacy.accuracy")
    self.init(accuracy: accuracy > 0 ? accuracy : nil)
    for text in try reader.texts("privacy.zones") {
      guard let zone = Zone(text) else {
        throw reader.problem(
          "privacy.zones",
          "\"\(text.prefix(80))\" is not \"LATITUDE LONGITUDE RADIUS [withhold|blur]\" in degrees and metres")
      }
      zones.append(zone)
    }
    if let path = reader.optionalText("privacy.path") {
      zones += try Zone.read(path, place: reader.place(of: "privacy.path"))
    }
  }
}

extension PrivacyPolicy.Zone {
  /// Reads "48.1371 11.5754 300 blur"; commas may stand between the parts. Nil for anything else.
  fileprivate init?(_ text: String) {
    let parts = text.split { $0 == " " || $0 == "," || $0 == "\t" }
    guard (3...4).contains(parts.count) else { return nil }
    let numbers = parts.prefix(3).compactMap { Double($0) }
    guard numbers.count == 3, (1...1_000_000).contains(numbers[2]) else { return nil }
    let centre = Coordinate(latitude: numbers[0], longitude: numbers[1])
    let treatment = parts.count == 4 ? PrivacyPolicy.Treatment(rawValue: String(parts[3])) : .withhold
    guard centre.isValid, let treatment else { return nil }
    guard let circle = Circle(center: centre, radius: numbers[2]) else { return nil }
    self.init(area: .circle(circle), treatment: treatment)
  }
}
