package import Fleet
internal import JSON
package import Spatial
internal import Telemetry

/// Documents about trips and events in the published formats.
package enum HistoryDocuments {
  /// Returns a message as a JSON object with the members `fleet` and `vehicle`. These two replace members of
  /// the same names in the message.
  /// - Parameter names: the members to omit.
  package static func object(
    _ payload: [UInt8], of vehicle: VehicleKey, without names: Set<String> = []
  ) -> [UInt8] {
    JSONWriter.object { $0.write(payload, of: vehicle, without: names) }
  }

  /// Returns a trip as a document.
  /// - Returns: nil for an invalid payload, and for the text format.
  package static func trip(_ payload: [UInt8], of vehicle: VehicleKey, as form: JournalFormat) -> [UInt8]? {
    guard let told = ReportedTrip(vehicle: vehicle, payload: payload),
      var writer: any DocumentWriter<ReportedTrip> = form.writer()
    else { return nil }
    writer.begin()
    append(told, to: &writer)
    writer.end()
    return writer.bytes
  }

  /// Returns the track in a trip message, which the vehicle has simplified; nil for an invalid payload.
  package static func way(_ payload: [UInt8]) -> [Coordinate]? {
    guard let json = try? JSONValue(parsing: payload), let trip = try? TripMessage(json: json) else {
      return nil
    }
    return trip.way.map(\.coordinate)
  }

  private static func append(_ told: ReportedTrip, to writer: inout any DocumentWriter<ReportedTrip>) {
    writer.append(told)
  }
}
