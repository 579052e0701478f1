internal import Fleet
internal import FleetStore
internal import Hummingbird
internal import JSON

extension HistoryRoutes {
  /// The maximum number of rows in `history/statistics`, one for each vehicle and day: 27 vehicles in a year.
  private static let mostDays = 10_000

  func addSums(to router: RouterGroup<WebContext>) {
    router.get("history/statistics") { request, context in
      let query = try HistoryQuery(request, ["fleet", "vehicle", "from", "to", "offset"])
      let part = try query.part(try context.requirePrincipal())
      // The offset of a time zone from UTC is at most 14 h.
      let offset = try query.integer("offset", -50_400...50_400) ?? 0
      return try await answer(request, context, "application/json") { reader, writer in
        let days = try reader.drivenDays(part, offset: offset, limit: Self.mostDays + 1)
        guard days.count <= Self.mostDays else {
          throw WebError(
            .badRequest, "too-much",
            "the result has more than \(Self.mostDays) rows, one for each vehicle and day",
            remedy: "request a shorter period, or fewer vehicles")
        }
        writer.json.openObject()
        writer.json.key("days")
        writer.json.openArray()
        for day in days {
          day.write(to: &writer.json)
          try writer.flushIfLarge()
        }
        writer.json.closeArray()
        writer.json.closeObject()
      }
    }
    router.get("ways") { request, context in
      let principal = try context.requirePrincipal()
      let query = try HistoryQuery(request, ["bounds", "zoom"])
      let bounds = try ViewBounds(query)
      let zoom = Double(try query.integer("zoom", 0...22) ?? 12)
      guard let canvas = bounds.canvas(zoom: zoom) else {
        throw WebError.parameter(
          "bounds",
          "the area is empty, or more than \(Int(TrackCanvas.mostPixels)) pixels at zoom \(Int(zoom))",
          remedy: "set the bounds of the map")
      }
      let scope = RecordingScope(principal.scope)
      return try await answer(request, context, "application/json") { reader, writer in
        let lines = try ways.lines(scope, from: reader) { writer.shouldContinue }
        var canvas = canvas
        writer.json.openObject()
        writer.json.key("ways")
        writer.json.openArray()
        for way in 0..<lines.wayCount where canvas.hasRoom && writer.shouldContinue {
          for part in canvas.draw(lines[way]) { Self.write(part, to: &writer.json) }
        }
        writer.json.closeArray()
        if !canvas.hasRoom { writer.json.field("more", true) }
        writer.json.closeObject()
      }
    }
  }

  /// Writes a route, given as alternating latitudes and longitudes in millionths of a degree, as an array in
  /// degrees.
  private static func write(_ way: [Int32], to json: inout JSONWriter) {
    json.openArray()
    for number in way { json.value(Double(number) * 1e-6, decimals: 5) }
    json.closeArray()
  }
}

extension DrivenDay {
  func write(to json: inout JSONWriter) {
    json.openObject()
    json.field("fleet", vehicle.fleet)
    json.field("vehicle", vehicle.vehicle)
    json.field("day", name)
    json.field("kind", kind)
    json.field("trips", trips)
    json.field("distance", distance, decimals: 1)
    json.field("estimated", estimated, decimals: 1)
    json.field("moving", moving, decimals: 1)
    json.field("standing", standing, decimals: 1)
    json.field("greatestSpeed", greatestSpeed, decimals: 2)
    json.closeObject()
  }
}

/// The visible part of a map in degrees: west, south, east, north.
struct ViewBounds: Sendable {
  private let west: Double
  private let south: Double
  private let east: Double
  private let north: Double

  init(_ query: HistoryQuery) throws(WebError) {
    guard let text = try query.text("bounds") else {
      throw .parameter("bounds", "required", remedy: Self.form)
    }
    let numbers = text.split(separator: ",", omittingEmptySubsequences: false).map { Double($0) ?? .nan }
    guard numbers.count == 4, numbers.allSatisfy(\.isFinite), (-180...180).contains(numbers[0]),
      (-180...180).contains(numbers[2]), (-90...90).contains(numbers[1]), (-90...90).contains(numbers[3]),
      numbers[0] < numbers[2], numbers[1] < numbers[3]
    else {
      throw .parameter("bounds", "invalid value \"\(text.prefix(80))\"", remedy: Self.form)
    }
    (west, south, east, north) = (numbers[0], numbers[1], numbers[2], numbers[3])
  }

  private static let form = "write them as west,south,east,north in degrees, for example 11.3,48.0,11.8,48.3"

  /// Returns a canvas; nil for an empty map and for one wider or higher than `TrackCanvas.mostPixels`.
  func canvas(zoom: Double) -> TrackCanvas? {
    TrackCanvas(west: west, south: south, east: east, north: north, zoom: zoom)
  }
}
