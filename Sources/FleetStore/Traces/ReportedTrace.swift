internal import Fleet
internal import JSON
internal import Spatial
internal import Telemetry

/// The last message about a trace, from a recording or live.
struct ReportedTrace: Hashable, Sendable {
  var vehicle: VehicleKey
  var trace: TraceMessage
  /// The original message, including unknown members.
  var payload: [UInt8]
  /// The number of the trace's pieces in the recording; nil if not requested.
  var arrived: Int?

  /// Decodes a message; nil for an invalid payload.
  init?(vehicle: VehicleKey, payload: [UInt8]) {
    guard let json = try? JSONValue(parsing: payload), let trace = try? TraceMessage(json: json) else {
      return nil
    }
    (self.vehicle, self.trace, self.payload) = (vehicle, trace, payload)
  }

  var key: TraceKey { TraceKey(vehicle: vehicle, trace: trace.trace) }
}

/// A selection of traces.
struct TraceSelection: Sendable {
  /// The vehicles, and the range of the traces' trigger times.
  var part = RecordingSelection()
  var number: Int64?
  var series: String?
  /// The causes, such as `impact`; empty for all.
  var causes: [String] = []

  /// True if the selection includes all traces.
  var isAll: Bool { part.isAll && number == nil && series == nil && causes.isEmpty }

  func contains(_ trace: JournalNumber) -> Bool {
    (number == nil || number == trace.number) && (series == nil || series == trace.series)
  }

  func contains(_ told: ReportedTrace) -> Bool {
    contains(told.trace.trace) && (causes.isEmpty || causes.contains(told.trace.cause.name))
  }
}

extension Recording {
  /// Returns the last message about each trace, sorted by vehicle and trigger time.
  func traces(_ selection: TraceSelection) throws(FleetError) -> [ReportedTrace] {
    var traces: [TraceKey: ReportedTrace] = [:]
    var part = selection.part
    part.kinds = [MessageKind.trace.rawValue]
    try readMessages(part) { message throws(FleetError) in
      guard let vehicle = message.vehicle,
        let told = ReportedTrace(vehicle: vehicle, payload: message.payload),
        selection.contains(told), told.isNewer(than: traces[told.key])
      else { return true }
      traces[told.key] = told
      return true
    }
    return traces.values.sorted { a, b in
      (a.vehicle, a.trace.time, a.trace.trace.series, a.trace.trace.number)
        < (b.vehicle, b.trace.time, b.trace.trace.series, b.trace.trace.number)
    }
  }

  /// Passes the pieces of traces to `body` in the order of their reception, until it returns false.
  func readTracePieces(
    _ selection: TraceSelection, _ body: (VehicleKey, TracePieceMessage) throws(FleetError) -> Bool
  ) throws(FleetError) {
    var part = selection.part
    // The time range applies to traces, not to their pieces: a vehicle without a connection sends the pieces
    // hours after the trigger.
    (part.kinds, part.from, part.to) = ([TopicScheme.tracePiece], nil, nil)
    try readMessages(part) { message throws(FleetError) in
      guard let vehicle = message.vehicle, let json = try? JSONValue(parsing: message.payload),
        let piece = try? TracePieceMessage(json: json), selection.contains(piece.trace)
      else { return true }
      return try body(vehicle, piece)
    }
  }
}

extension ReportedTrace {
  /// Returns whether this message is newer than another one about the same trace; true if there is no other.
  func isNewer(than other: ReportedTrace?) -> Bool {
    guard let other else { return true }
    return (trace.revision, trace.size == nil ? 0 : 1) > (
      other.trace.revision, other.trace.size == nil ? 0 : 1
    )
  }
}
