internal import Fleet
internal import FleetStore
internal import Hummingbird
internal import Telemetry

extension HistoryRoutes {
  func addTraces(to router: RouterGroup<WebContext>, _ vehicle: String) {
    router.get("traces") { request, context in
      let query = try HistoryQuery(
        request, ["fleet", "vehicle", "from", "to", "limit", "after", "cause"])
      let part = try query.part(try context.requirePrincipal())
      let causes = try query.words("cause", among: ["impact", "command"])
      let limit = try query.integer("limit", 1...500) ?? 100
      let after = try query.after()
      return try await answer(request, context, "application/json") { reader, writer in
        let entries = try reader.traces(part, causes: causes, after: after, limit: limit + 1)
        try Self.write(entries, limit, "traces", without: ["epoch", "seq"], to: writer)
      }
    }
    router.get("\(vehicle)traces/{series}/{file}") { request, context in
      let key = try Self.vehicle(context)
      let (number, form) = try Self.entry(context, "trace")
      _ = try HistoryQuery(request, [])
      guard let format = TraceFormat(rawValue: form) else { throw WebError.notFound("trace") }
      let type =
        switch format {
        case .csv: "text/csv; charset=utf-8"
        case .odotrace, .mcap: "application/octet-stream"
        }
      let name = "\(key.vehicle)-trace-\(number.number).\(format.rawValue)"
      return try await answer(request, context, type, savedAs: name) { reader, writer in
        switch try reader.trace(number, of: key, as: format) {
        case .document(let bytes): try writer.write(bytes)
        case .unknown: throw WebError.notFound("trace")
        case .unavailable(let reason):
          throw WebError(
            .conflict, "trace-unavailable", reason, remedy: "retry later, or request another format")
        }
      }
    }
  }
}
