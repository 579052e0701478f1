package import Spatial

/// A part of the map: between two parallels, and from a western to an eastern meridian, possibly across the
/// antimeridian.
package struct MapBounds: Hashable, Sendable {
  /// The western longitude in degrees, -180 ..< 180, and the width in degrees, 0 ... 360.
  package private(set) var west: Double
  package private(set) var width: Double
  /// Latitudes in degrees, -90 ... 90.
  package private(set) var south: Double
  package private(set) var north: Double

  private init(west: Double, width: Double, south: Double, north: Double) {
    (self.west, self.width, self.south, self.north) = (west, width, south, north)
  }

  /// Parses `west,south,east,north` in degrees. Longitudes beyond ±180° are allowed for a map across the
  /// antimeridian.
  /// - Throws: 400 for an invalid value.
  package init(parsing text: String) throws(WebError) {
    let numbers = text.split(separator: ",", omittingEmptySubsequences: false).map { Double($0) ?? .nan }
    guard numbers.count == 4, numbers.allSatisfy({ $0.isFinite && abs($0) <= 1080 }), numbers[1] <= numbers[3]
    else {
      throw .invalid(
        "bounds", "bounds must be west,south,east,north in degrees, for example 11.3,48.0,11.8,48.3")
    }
    let span = numbers[2] - numbers[0]
    let west = normalizedDegrees(numbers[0] + 180) - 180
    self.init(
      west: span >= 360 ? -180 : west, width: span >= 360 ? 360 : normalizedDegrees(span),
      south: max(-90, min(90, numbers[1])), north: max(-90, min(90, numbers[3])))
  }

  package func contains(_ place: Coordinate) -> Bool {
    guard (south...north).contains(place.latitude) else { return false }
    return width >= 360 || normalizedDegrees(place.longitude - west) <= width
  }

  /// The bounds enlarged by at most a quarter of their size at each side to a common grid, so that users with
  /// similar views share the same response.
  package var snapped: MapBounds {
    let step = Self.step(max(width, north - south, 1e-3) / 4)
    guard width < 360 else { return aligned(step, west: -180, width: 360) }
    let first = (west / step).rounded(.down) * step
    let last = ((west + width) / step).rounded(.up) * step
    guard last - first < 360 else { return aligned(step, west: -180, width: 360) }
    return aligned(step, west: normalizedDegrees(first + 180) - 180, width: last - first)
  }

  private func aligned(_ step: Double, west: Double, width: Double) -> MapBounds {
    MapBounds(
      west: west, width: width, south: max(-90, (south / step).rounded(.down) * step),
      north: min(90, (north / step).rounded(.up) * step))
  }

  /// Returns the largest power of two that is not above `length`.
  private static func step(_ length: Double) -> Double {
    Double(sign: .plus, exponent: length.exponent, significand: 1)
  }
}
