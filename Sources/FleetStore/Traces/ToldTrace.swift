internal import Fleet
internal import JSON
internal import Spatial
internal import Telemetry

/// A trace as its vehicle told of it last, out of a recording or live.
struct ToldTrace: Hashable, Sendable {
  var vehicle: VehicleKey
  var trace: TraceMessage
  /// The message as it came, with what this version does not know of it.
  var payload: [UInt8]
  /// Of its pieces those that the recording has; nil where that was not asked for.
  var arrived: Int?

  /// nil where the payload is no such message.
  init?(vehicle: VehicleKey, payload: [UInt8]) {
    guard let json = try? JSONValue(parsing: payload), let trace = try? TraceMessage(json: json) else {
      return nil
    }
    (self.vehicle, self.trace, self.payload) = (vehicle, trace, payload)
  }

  var key: TraceKey { TraceKey(vehicle: vehicle, trace: trace.trace) }
}

/// Which traces are meant.
struct TraceSelection: Sendable {
  /// Of whom, and of moments from when to when.
  var part = RecordingSelection()
  var number: Int64?
  var series: String?
  /// None stands for all.
  var causes: [String] = []

  /// Whether nothing is left out.
  var isAll: Bool { part.isAll && number == nil && series == nil && causes.isEmpty }

  func contains(_ trace: JournalNumber) -> Bool {
    (number == nil || number == trace.number) && (series == nil || series == trace.series)
  }

  func contains(_ told: ToldTrace) -> Bool {
    contains(told.trace.trace) && (causes.isEmpty || causes.contains(told.trace.cause.name))
  }
}

extension Recording {
  /// Of each trace what was told last, by vehicle and in order of moments.
  func traces(_ selection: TraceSelection) throws(FleetError) -> [ToldTrace] {
    var traces: [TraceKey: ToldTrace] = [:]
    var part = selection.part
    part.kinds = [MessageKind.trace.rawValue]
    try readMessages(part) { message throws(FleetError) in
      guard let vehicle = message.vehicle, let told = ToldTrace(vehicle: vehicle, payload: message.payload),
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

  /// Hands over the pieces of traces in the order in which they came, until `body` returns false.
  func readTracePieces(
    _ selection: TraceSelection, _ body: (VehicleKey, TracePieceMessage) throws(FleetError) -> Bool
  ) throws(FleetError) {
    var part = selection.part
    // They were told after the moment, and hours after it where the vehicle was out of reach.
    (part.kinds, part.from, part.to) = ([TopicScheme.tracePiece], nil, nil)
    try readMessages(part) { message throws(FleetError) in
      guard let vehicle = message.vehicle, let json = try? JSONValue(parsing: message.payload),
        let piece = try? TracePieceMessage(json: json), selection.contains(piece.trace)
      else { return true }
      return try body(vehicle, piece)
    }
  }
}

extension ToldTrace {
  /// Whether it says more of the trace.
  func isNewer(than other: ToldTrace?) -> Bool {
    guard let other else { return true }
    return (trace.revision, trace.size == nil ? 0 : 1) > (
      other.trace.revision, other.trace.size == nil ? 0 : 1
    )
  }
}
