package import Fleet
internal import Spatial
package import Telemetry

/// The result of a request for a trace.
package enum HistoryTrace: Sendable {
  case document([UInt8])
  /// The trace is unknown.
  case unknown
  /// The trace is known, but cannot be returned in this format, or is incomplete so far; with the reason and
  /// the remedy.
  case unavailable(String)
}

extension HistoryReader {
  /// Returns the last message about each trace, the newest trigger first.
  /// - Parameters:
  ///   - part: the vehicles, and the range of the traces' trigger times.
  ///   - causes: the causes of traces, such as `impact`; empty for all.
  ///   - after: the last entry of the previous page; nil for the first page.
  ///   - limit: the maximum number of traces.
  package func traces(
    _ part: RecordingSelection, causes: [String], after: JournalPosition?, limit: Int
  ) throws(FleetError) -> [PagedEntry] {
    var selection = TraceSelection()
    (selection.part, selection.causes) = (part, causes)
    let entries = try recording.traces(selection).map { told in
      PagedEntry(
        place: JournalPosition(
          time: told.trace.time.milliseconds, vehicle: told.vehicle, number: told.trace.trace),
        payload: told.payload)
    }
    let sorted = entries.sorted { $0.place.precedes($1.place) }
    guard let after else { return Array(sorted.prefix(limit)) }
    return Array(sorted.drop { !after.precedes($0.place) }.prefix(limit))
  }

  /// Assembles a trace from its messages in the recording.
  package func trace(
    _ number: JournalNumber, of vehicle: VehicleKey, as form: TraceFormat
  ) throws(FleetError) -> HistoryTrace {
    var selection = TraceSelection()
    (selection.number, selection.series) = (number.number, number.series)
    (selection.part.fleets, selection.part.vehicles) = ([vehicle.fleet], [vehicle.vehicle])
    guard let told = try recording.traces(selection).first else { return .unknown }
    let state = try recording.assembly(of: told)
    guard case .whole(let bytes) = state else {
      return .unavailable(state.reason(told.trace))
    }
    let name = "trace \(number.number) of \(vehicle)"
    do throws(FleetError) {
      return .document(try TraceDocument(bytes, as: form, title: "odograph \(name)", of: name).bytes)
    } catch { return .unavailable(error.cause) }
  }
}

extension JournalPosition {
  /// Returns whether this position is before another one in a list: newest time first; at equal times, by
  /// vehicle and number.
  func precedes(_ other: JournalPosition) -> Bool {
    if time != other.time { return time > other.time }
    return (vehicle.vehicle, vehicle.fleet, number.series, number.number)
      < (other.vehicle.vehicle, other.vehicle.fleet, other.number.series, other.number.number)
  }
}
