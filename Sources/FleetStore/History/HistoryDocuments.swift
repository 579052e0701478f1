package import Fleet
internal import JSON
package import Spatial
internal import Telemetry

/// What vehicles told of trips and events, in the forms in which it is handed on.
package enum HistoryDocuments {
  /// The members of a message and whose it is, as a JSON object; a vehicle's own word for `fleet` and `vehicle` does not count.
  /// - Parameter names: members that are left out.
  package static func object(
    _ payload: [UInt8], of vehicle: VehicleKey, without names: Set<String> = []
  ) -> [UInt8] {
    JSONWriter.object { $0.write(payload, of: vehicle, without: names) }
  }

  /// A trip as a document.
  /// - Returns: nil where the payload is no trip.
  package static func trip(_ payload: [UInt8], of vehicle: VehicleKey, as form: JournalFormat) -> [UInt8]? {
    guard let told = ToldTrip(vehicle: vehicle, payload: payload) else { return nil }
    var writer = form.tripWriter(isSheet: true)
    writer.begin()
    append(told, to: &writer)
    writer.end()
    return writer.bytes
  }

  /// The way of a trip, thinned as its vehicle told it; nil where the payload is no trip.
  package static func way(_ payload: [UInt8]) -> [Coordinate]? {
    guard let json = try? JSONValue(parsing: payload), let trip = try? TripMessage(json: json) else {
      return nil
    }
    return trip.way.map(\.coordinate)
  }

  private static func append(_ told: ToldTrip, to writer: inout any JournalWriter<ToldTrip>) {
    writer.append(told)
  }
}
