internal import Fleet
internal import FleetStore
internal import Hummingbird
internal import JSON
internal import Spatial

extension HistoryRoutes {
  /// The maximum number of days in a request.
  static let mostDaysAtOnce = 31

  func addTracks(to router: RouterGroup<WebContext>, _ vehicle: String) {
    router.get("\(vehicle)extent") { request, context in
      let key = try Self.vehicle(context)
      let (from, to) = try HistoryQuery(request, ["from", "to"]).times()
      return try await answer(request, context, "application/json") { reader, writer in
        try Self.demand(key, in: reader)
        let extent = try reader.extent(of: key, from: from, to: to)
        writer.json.openObject()
        writer.json.field("from", extent?.from.rfc3339)
        writer.json.field("to", extent?.to.rfc3339)
        writer.json.field("positions", extent?.positions ?? 0)
        if extent?.hasMore == true { writer.json.field("more", true) }
        writer.json.closeObject()
      }
    }
    router.get("\(vehicle)track") { request, context in
      let asked = try AskedTrack(request, context)
      return try await answer(request, context, "application/json") { reader, writer in
        let track = try asked.read(reader, writer)
        try TrackColumns.write(track, asked.span, to: writer)
      }
    }
    router.get("\(vehicle)track.geojson") { request, context in
      let asked = try AskedTrack(request, context)
      let name = "\(asked.span.vehicle.vehicle)-\(asked.span.from.rfc3339.prefix(10)).geojson"
      return try await answer(request, context, "application/geo+json", savedAs: name) { reader, writer in
        let track = try asked.read(reader, writer)
        try TrackFeatures.write(track, asked.span.vehicle, to: writer)
      }
    }
    router.get("\(vehicle)stops") { request, context in
      let key = try Self.vehicle(context)
      let query = try HistoryQuery(request, ["from", "to", "seconds", "radius"])
      let (from, to) = try query.span(days: Self.mostDaysAtOnce)
      var limits = StopFinder.Limits()
      limits.duration = Double(try query.integer("seconds", 60...86_400) ?? Int(limits.duration))
      limits.radius = Double(try query.integer("radius", 10...5000) ?? Int(limits.radius))
      let span = TrackSpan(vehicle: key, from: from, to: to)
      return try await answer(request, context, "application/json") { [limits] reader, writer in
        try Self.demand(key, in: reader)
        let stops = try Stop.within(span, limits, reader, at: Moment.now.time) { writer.shouldContinue }
        guard writer.shouldContinue else { throw CancellationError() }
        writer.json.openObject()
        writer.json.field("seconds", Int(limits.duration))
        writer.json.field("radius", Int(limits.radius))
        writer.json.key("stops")
        writer.json.openArray()
        for stop in stops {
          stop.write(to: &writer.json)
          try writer.flushIfLarge()
        }
        writer.json.closeArray()
        writer.json.closeObject()
      }
    }
  }

  /// Throws an error if the recording does not contain a vehicle.
  /// - Throws: 404, as for a vehicle that is not visible.
  static func demand(_ vehicle: VehicleKey, in reader: HistoryReader) throws {
    guard try reader.knows(vehicle) else { throw WebError.notFound("vehicle") }
  }

  /// The requested track.
  private struct AskedTrack: Sendable {
    let span: TrackSpan
    let points: Int

    /// The default number of points: about the width of a screen in pixels.
    private static let usualPoints = 2000

    init(_ request: Request, _ context: WebContext) throws {
      let key = try HistoryRoutes.vehicle(context)
      let query = try HistoryQuery(request, ["from", "to", "points"])
      let (from, to) = try query.span(days: HistoryRoutes.mostDaysAtOnce)
      span = TrackSpan(vehicle: key, from: from, to: to)
      points = try query.integer("points", 2...100_000) ?? Self.usualPoints
    }

    func read(_ reader: HistoryReader, _ writer: AnswerWriter) throws -> TrackSimplifier.Result {
      try HistoryRoutes.demand(span.vehicle, in: reader)
      var thinner = TrackSimplifier(points: points)
      var count = 0
      try reader.readTrack(span) { sample in
        thinner.process(sample)
        count += 1
        return count % 1024 != 0 || writer.shouldContinue
      }
      let result = thinner.finish { writer.shouldContinue }
      guard writer.shouldContinue else { throw CancellationError() }
      return result
    }
  }
}

extension Stop {
  /// Returns the stops of a vehicle in a span, each cut to the span.
  ///
  /// The positions next to the span are read, too: a parked vehicle can send nothing for days. A stop is open
  /// if the span reaches the present and no later position is recorded.
  fileprivate static func within(
    _ span: TrackSpan, _ limits: StopFinder.Limits, _ reader: HistoryReader, at now: UTCTime,
    shouldContinue: () -> Bool
  ) throws -> [Stop] {
    let next = try reader.neighbours(
      of: span, accuracy: limits.radius, days: Double(HistoryRoutes.mostDaysAtOnce))
    // At least the minimum duration, for short stops across an end of the span.
    var wider = span
    wider.from = min(next.before ?? span.from, span.from.advanced(bySeconds: -limits.duration))
    wider.to = max(
      next.after?.advanced(bySeconds: 0.001) ?? span.to, span.to.advanced(bySeconds: limits.duration))
    var finder = StopFinder(limits)
    var stops: [Stop] = []
    try reader.readTrack(wider) { sample in
      if let stop = finder.process(sample) { stops.append(stop) }
      return shouldContinue()
    }
    if var last = finder.finish() {
      last.isOpen = last.isOpen && next.after == nil && span.to > now
      stops.append(last)
    }
    return stops.compactMap { $0.cut(to: span) }
  }

  func write(to json: inout JSONWriter) {
    json.openObject()
    json.field("from", UTCTime(nanoseconds: from * 1_000_000).rfc3339)
    json.field("to", UTCTime(nanoseconds: to * 1_000_000).rfc3339)
    json.field("latitude", latitude, decimals: 6)
    json.field("longitude", longitude, decimals: 6)
    json.field("positions", positions)
    if isOpen { json.field("open", true) }
    json.closeObject()
  }
}

/// A track in columns for plotting and playback. Each column has one value per point, null if unknown;
/// `gaps` has the indices of the points after long gaps.
enum TrackColumns {
  static func write(_ track: TrackSimplifier.Result, _ span: TrackSpan, to writer: AnswerWriter) throws {
    let origin = span.from.nanoseconds / 1_000_000
    writer.json.openObject()
    writer.json.field("from", span.from.rfc3339)
    writer.json.field("to", span.to.rfc3339)
    writer.json.field("count", track.count)
    writer.json.field("points", track.samples.count)
    // Rounded up, because it is an error bound.
    writer.json.field("tolerance", (track.tolerance * 10).rounded(.up) / 10, decimals: 1)
    writer.json.key("gaps")
    writer.json.openArray()
    for index in track.gaps { writer.json.value(index) }
    writer.json.closeArray()
    try column("time", track, writer) { $1.value($0.time - origin) }
    try column("latitude", track, writer) { $1.value($0.latitude, decimals: 7) }
    try column("longitude", track, writer) { $1.value($0.longitude, decimals: 7) }
    try column("altitude", track, writer) { $1.value(Double($0.altitude), decimals: 1) }
    try column("speed", track, writer) { $1.value(Double($0.speed), decimals: 2) }
    try column("course", track, writer) { $1.value(Double($0.course), decimals: 1) }
    try column("accuracy", track, writer) { $1.value(Double($0.accuracy), decimals: 1) }
    try column("source", track, writer) { $1.value($0.source.name) }
    writer.json.closeObject()
  }

  private static func column(
    _ name: StaticString, _ track: TrackSimplifier.Result, _ writer: AnswerWriter,
    _ body: (TrackSample, inout JSONWriter) -> Void
  ) throws {
    writer.json.key(name)
    writer.json.openArray()
    for (index, sample) in track.samples.enumerated() {
      body(sample, &writer.json)
      if index % 1024 == 1023 { try writer.flushIfLarge() }
    }
    writer.json.closeArray()
  }
}

/// A track as a FeatureCollection (RFC 7946): a line for each part without a gap, with times as in exports of
/// trips, and a point for each isolated position. Lines end at the antimeridian (section 3.1.9).
enum TrackFeatures {
  static func write(_ track: TrackSimplifier.Result, _ vehicle: VehicleKey, to writer: AnswerWriter) throws {
    writer.json.openObject()
    writer.json.field("type", "FeatureCollection")
    writer.json.key("features")
    writer.json.openArray()
    for segment in TrackSegments.of(track).flatMap(lines) {
      write(segment, track.tolerance, vehicle, to: &writer.json)
      try writer.flushIfLarge()
    }
    writer.json.closeArray()
    writer.json.closeObject()
  }

  private static func lines(_ segment: ArraySlice<TrackSample>) -> [[TrackSample]] {
    Antimeridian.cut(segment, \.longitude) { last, next, share in
      var crossing = last
      crossing.time += Int64(share * Double(next.time - last.time))
      crossing.latitude += share * (next.latitude - last.latitude)
      crossing.altitude += Float(share) * (next.altitude - last.altitude)
      return crossing
    }
  }

  private static func write(
    _ segment: [TrackSample], _ tolerance: Double, _ vehicle: VehicleKey, to json: inout JSONWriter
  ) {
    guard let first = segment.first else { return }
    json.openObject()
    json.field("type", "Feature")
    json.field("geometry") { json in
      json.field("type", segment.count > 1 ? "LineString" : "Point")
      json.key("coordinates")
      if segment.count > 1 { json.openArray() }
      for sample in segment {
        json.openArray()
        json.value(sample.longitude, decimals: 7)
        json.value(sample.latitude, decimals: 7)
        if sample.altitude.isFinite { json.value(Double(sample.altitude), decimals: 1) }
        json.closeArray()
      }
      if segment.count > 1 { json.closeArray() }
    }
    json.field("properties") { json in
      json.field("fleet", vehicle.fleet)
      json.field("vehicle", vehicle.vehicle)
      json.field("source", first.source.name)
      json.field("tolerance", (tolerance * 10).rounded(.up) / 10, decimals: 1)
      if segment.count > 1 {
        json.field("coordinateProperties") { json in
          json.field("times", texts: segment.map(\.moment.rfc3339))
        }
      } else {
        json.field("time", first.moment.rfc3339)
      }
    }
    json.closeObject()
  }
}
