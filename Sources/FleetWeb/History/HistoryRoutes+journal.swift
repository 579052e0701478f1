internal import Fleet
internal import FleetStore
internal import Hummingbird
internal import JSON
internal import Telemetry

extension HistoryRoutes {
  private static let pageNames = ["fleet", "vehicle", "from", "to", "limit", "after"]
  private static let usualLimit = 100
  private static let limits = 1...500

  func addJournal(to router: RouterGroup<WebContext>, _ vehicle: String) {
    router.get("trips") { request, context in
      let query = try HistoryQuery(request, Self.pageNames + ["kind"])
      var asked = JournalQuery(.trips, limit: try query.integer("limit", Self.limits) ?? Self.usualLimit)
      asked.part = try query.part(try context.requirePrincipal())
      asked.kinds = try query.words("kind", among: ["driven", "carried", "unobserved"])
      asked.after = try query.after()
      return try await page(request, context, asked, "trips", without: ["way", "epoch", "seq"])
    }
    router.get("events") { request, context in
      let query = try HistoryQuery(request, Self.pageNames + ["event", "severity"])
      var asked = JournalQuery(
        .drivingEvents, limit: try query.integer("limit", Self.limits) ?? Self.usualLimit)
      asked.part = try query.part(try context.requirePrincipal())
      asked.kinds = try query.words("event", among: DrivingEventMessage.Kind.known.map(\.name))
      asked.severities = try query.words(
        "severity", among: DrivingEventMessage.Severity.allCases.map(\.rawValue))
      asked.after = try query.after()
      return try await page(request, context, asked, "events", without: ["epoch", "seq"])
    }
    router.get("\(vehicle)transitions") { request, context in
      let key = try Self.vehicle(context)
      let query = try HistoryQuery(request, ["from", "to", "limit", "after"])
      let (from, to) = try query.span(days: Self.mostDaysAtOnce)
      let span = TrackSpan(vehicle: key, from: from, to: to)
      let limit = try query.integer("limit", Self.limits) ?? Self.usualLimit
      let after = try query.after()
      return try await answer(request, context, "application/json") { reader, writer in
        try Self.demand(key, in: reader)
        let entries = try reader.transitions(span, after: after, limit: limit + 1)
        try Self.write(entries, limit, "transitions", without: ["epoch", "seq"], to: writer)
      }
    }
    router.get("\(vehicle)trips/{series}/{file}") { request, context in
      let key = try Self.vehicle(context)
      let (number, form) = try Self.entry(context, "trip")
      _ = try HistoryQuery(request, [])
      let types = [
        "json": "application/json", "geojson": "application/geo+json", "gpx": "application/gpx+xml",
      ]
      guard let type = types[form] else { throw WebError.notFound("trip") }
      let name = form == "json" ? nil : "\(key.vehicle)-trip-\(number.number).\(form)"
      return try await answer(request, context, type, savedAs: name) { reader, writer in
        guard let payload = try reader.trip(number, of: key) else { throw WebError.notFound("trip") }
        switch form {
        case "json": try writer.write(HistoryDocuments.object(payload, of: key, without: ["epoch", "seq"]))
        default:
          let document = HistoryDocuments.trip(payload, of: key, as: form == "gpx" ? .gpx : .geojson)
          guard let document else { throw WebError.notFound("trip") }
          try writer.write(document)
        }
      }
    }
  }

  private func page(
    _ request: Request, _ context: WebContext, _ asked: JournalQuery, _ member: String,
    without names: Set<String>
  ) async throws -> Response {
    // Reads one entry more than requested, to find out whether there is another page.
    var query = asked
    query.limit += 1
    return try await answer(request, context, "application/json") { [query] reader, writer in
      let entries = try reader.page(query)
      try Self.write(entries, asked.limit, member, without: names, to: writer)
    }
  }

  /// Writes a page of entries.
  ///
  /// - Parameter limit: the number of entries in a page. If there are more, `next` is the position of the
  ///   page's last entry.
  static func write(
    _ entries: [PagedEntry], _ limit: Int, _ member: String, without names: Set<String>,
    to writer: AnswerWriter
  ) throws {
    writer.json.openObject()
    writer.json.key(member)
    writer.json.openArray()
    for entry in entries.prefix(limit) {
      writer.json.raw(HistoryDocuments.object(entry.payload, of: entry.place.vehicle, without: names))
      try writer.flushIfLarge()
    }
    writer.json.closeArray()
    if entries.count > limit { writer.json.field("next", entries[limit - 1].place.word) }
    writer.json.closeObject()
  }
}
