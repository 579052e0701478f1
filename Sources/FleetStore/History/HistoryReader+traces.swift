package import Fleet
internal import Spatial
package import Telemetry

/// What came of asking for a trace.
package enum HistoryTrace: Sendable {
  case document([UInt8])
  /// Nobody told of it.
  case unknown
  /// It cannot be had in this form, or not yet: why, and what helps.
  case unavailable(String)
}

extension HistoryReader {
  /// Of each trace what was told last, the newest moment first.
  /// - Parameters:
  ///   - part: of whom, and of moments from when to when.
  ///   - causes: none stands for all.
  package func traces(
    _ part: RecordingSelection, causes: [String], after: JournalPlace?, limit: Int
  ) throws(FleetError) -> [PagedEntry] {
    var selection = TraceSelection(part: part)
    selection.causes = causes
    let entries = try recording.traces(selection).map { told in
      PagedEntry(
        place: JournalPlace(
          time: told.trace.time.milliseconds, vehicle: told.vehicle, number: told.trace.trace),
        payload: told.payload)
    }
    let sorted = entries.sorted { $0.place.precedes($1.place) }
    guard let after else { return Array(sorted.prefix(limit)) }
    return Array(sorted.drop { !after.precedes($0.place) }.prefix(limit))
  }

  /// Puts a trace together of what the recording has of it.
  package func trace(
    _ number: JournalNumber, of vehicle: VehicleKey, as form: TraceFormat
  ) throws(FleetError) -> HistoryTrace {
    var selection = TraceSelection(number: number.number, series: number.series)
    (selection.part.fleets, selection.part.vehicles) = ([vehicle.fleet], [vehicle.vehicle])
    guard let told = try recording.traces(selection).first else { return .unknown }
    var assembly = TraceAssembly()
    assembly.add(told.trace, of: told.vehicle)
    try recording.readTracePieces(selection) { owner, piece throws(FleetError) in
      guard piece.trace == told.trace.trace, owner == told.vehicle else { return true }
      assembly.add(piece, of: owner)
      return true
    }
    let state = assembly.state(of: told.key)
    guard case .whole(let bytes) = state else {
      return .unavailable(TraceCommand.reason(state, told.trace))
    }
    let name = "trace \(number.number) of \(vehicle)"
    do throws(FleetError) {
      return .document(try TraceDocument.bytes(bytes, as: form, title: "odograph \(name)", of: name))
    } catch { return .unavailable(error.cause) }
  }
}

extension JournalPlace {
  /// Newest first; of one moment by vehicle and number.
  func precedes(_ other: JournalPlace) -> Bool {
    if time != other.time { return time > other.time }
    return (vehicle.vehicle, vehicle.fleet, number.series, number.number)
      < (other.vehicle.vehicle, other.vehicle.fleet, other.number.series, other.number.number)
  }
}
