package import Fleet
internal import JSON
internal import Spatial
package import Telemetry

/// The last message about a trace, from a recording or live.
package struct ReportedTrace: Hashable, Sendable {
  package var vehicle: VehicleKey
  package var trace: TraceMessage
  /// The original message, including unknown members.
  package var payload: [UInt8]
  /// The number of the trace's pieces in the recording; nil if not requested.
  package var arrived: Int?

  /// Decodes a message; nil for an invalid payload.
  package init?(vehicle: VehicleKey, payload: [UInt8]) {
    guard let json = try? JSONValue(parsing: payload), let trace = try? TraceMessage(json: json) else {
      return nil
    }
    (self.vehicle, self.trace, self.payload) = (vehicle, trace, payload)
  }

  package var key: TraceKey { TraceKey(vehicle: vehicle, trace: trace.trace) }
}

/// A selection of traces.
package struct TraceSelection: Sendable {
  /// The vehicles, and the range of the traces' trigger times.
  package var part = RecordingSelection()
  package var number: Int64?
  package var series: String?
  /// The causes, such as `impact`; empty for all.
  package var causes: [String] = []

  package init() {}

  /// True if the selection includes all traces.
  package var isAll: Bool { part.isAll && number == nil && series == nil && causes.isEmpty }

  package func contains(_ trace: JournalNumber) -> Bool {
    (number == nil || number == trace.number) && (series == nil || series == trace.series)
  }

  package func contains(_ told: ReportedTrace) -> Bool {
    contains(told.trace.trace) && (causes.isEmpty || causes.contains(told.trace.cause.name))
  }
}

extension Recording {
  /// Returns the last message about each trace, sorted by vehicle and trigger time.
  package func traces(_ selection: TraceSelection) throws(FleetError) -> [ReportedTrace] {
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
  package func readTracePieces(
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

  /// Returns the numbers of the pieces that have arrived, by trace and number of pieces of the division.
  /// - Parameter shouldContinue: called after each piece; false ends the search.
  package func arrivedPieces(
    _ selection: TraceSelection, while shouldContinue: () -> Bool
  ) throws(FleetError) -> [TraceKey: [Int: Set<Int>]] {
    var arrived: [TraceKey: [Int: Set<Int>]] = [:]
    try readTracePieces(selection) { vehicle, piece in
      let key = TraceKey(vehicle: vehicle, trace: piece.trace)
      arrived[key, default: [:]][piece.pieces, default: []].insert(piece.piece)
      return shouldContinue()
    }
    return arrived
  }

  /// Assembles a trace from its pieces in the recording.
  package func assembly(of told: ReportedTrace) throws(FleetError) -> TraceAssembly.State {
    var selection = TraceSelection()
    (selection.part.fleets, selection.part.vehicles) = ([told.vehicle.fleet], [told.vehicle.vehicle])
    (selection.number, selection.series) = (told.trace.trace.number, told.trace.trace.series)
    var assembly = TraceAssembly()
    assembly.add(told.trace, of: told.vehicle)
    try readTracePieces(selection) { vehicle, piece in
      if vehicle == told.vehicle { assembly.add(piece, of: vehicle) }
      return true
    }
    return assembly.state(of: told.key)
  }
}

extension ReportedTrace {
  /// Returns whether this message is newer than another one about the same trace; true if there is no other.
  package func isNewer(than other: ReportedTrace?) -> Bool {
    guard let other else { return true }
    return (trace.revision, trace.size == nil ? 0 : 1) > (
      other.trace.revision, other.trace.size == nil ? 0 : 1
    )
  }
}

extension TraceAssembly.State {
  /// Returns the reason why a trace is incomplete, with the remedy.
  package func reason(_ trace: TraceMessage?) -> String {
    switch self {
    case .unannounced:
      trace == nil
        ? "its announcement is missing" : "its vehicle was still recording it at the last report"
    case .missing(let pieces, let count):
      "of \(count) pieces these are missing: \(Self.ranges(pieces)); its vehicle sends them when it has a link"
    case .damaged(let problem): problem
    case .whole: "it is whole"
    }
  }

  /// Formats the numbers of pieces, such as `2, 4-5`.
  private static func ranges(_ pieces: [ClosedRange<Int>]) -> String {
    let shown = pieces.prefix(8).map {
      $0.count == 1 ? "\($0.lowerBound)" : "\($0.lowerBound)-\($0.upperBound)"
    }
    return shown.joined(separator: ", ") + (pieces.count > shown.count ? " and more" : "")
  }
}
