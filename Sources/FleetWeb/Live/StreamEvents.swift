internal import Fleet
internal import JSON
internal import Platform
internal import Spatial

/// The parts of the first update of all vehicles, shared by clients that connect within a second.
enum StreamPieces {
  struct Key: Hashable {
    var scope: Scope
    /// True for links, which get less data.
    var isLink: Bool
    /// The table index of the part's first vehicle.
    var place: Int
  }

  struct Piece {
    var frame: StreamFrame?
    /// The table's revision when the part was created.
    var revision: UInt64
    var madeAt: Timestamp
    /// True if no further vehicles follow.
    var isLast: Bool
  }

  /// The time in s for which a part is shared.
  static let age = 1.0
}

/// The events of one update of all clients, each created on demand. Used by the hub's thread.
final class StreamEvents {
  private let fleet: LiveFleet
  private let sources: [any StreamSource]
  private let now: Moment
  private let link: BrokerLink
  private let keepsPlain: Bool
  private let table: SummaryTable
  private var changes: [StreamPlan.Changes: [StreamFrame]] = [:]
  private var details: [DetailKey: (frame: StreamFrame, revision: UInt64)] = [:]
  private var told: [SourceKey: StreamFrame?] = [:]
  private(set) var pieces: [StreamPieces.Key: StreamPieces.Piece]

  private struct DetailKey: Hashable {
    var key: VehicleKey
    var isLink: Bool
  }

  private struct SourceKey: Hashable {
    var source: Int
    var principal: Principal
  }

  /// The maximum number of vehicles in an event of changes.
  private static let most = 1000
  /// The minimum interval in ns between updates of sources such as alerts, against bursts.
  private static let sourcesPause = 2.0

  /// Creates the events.
  ///
  /// - Parameter keepsPlain: true if a current client does not accept gzip.
  init(
    hub fleet: LiveFleet, sources: [any StreamSource], at now: Moment, keepsPlain: Bool,
    pieces: [StreamPieces.Key: StreamPieces.Piece]
  ) {
    self.fleet = fleet
    self.sources = sources
    self.now = now
    self.keepsPlain = keepsPlain
    link = fleet.feed.link()
    // The copy is cheap, because it shares the encoded summaries.
    table = fleet.withTable(at: now) { $0 }
    let oldest = now.timestamp.advanced(bySeconds: -StreamPieces.age)
    self.pieces = pieces.filter { $0.value.madeAt >= oldest }
  }

  /// Returns a client's update, and advances its progress.
  func frames(
    for client: inout StreamClient, _ id: String, heartbeat: Double, at time: MonotonicTime
  ) -> [StreamFrame] {
    var frames: [StreamFrame] = []
    if !client.isGreeted {
      client.isGreeted = true
      client.link = link
      frames.append(hello(id, client))
    } else if client.link != link {
      client.link = link
      let principal = client.principal
      frames.append(
        StreamFrame(event: "broker", json: JSONWriter.object { link.write(to: &$0, for: principal) }))
    }
    let plan = StreamPlan(
      client.cursor, client.view, client.principal.scope, isLink: client.principal.isLink,
      revision: table.revision, at: time)
    let before = client.cursor
    client.cursor = plan.cursor
    switch plan.part {
    case .piece(let place):
      let piece = piece(client.principal, place)
      if let frame = piece.frame { frames.append(frame) }
      client.cursor.inside = min(before.inside, piece.revision)
      client.cursor.outside = client.cursor.inside
      if piece.isLast { client.cursor.next = nil }
    case .changes(let wanted): frames += changes(wanted, client.principal, resumesAt: client.cursor.outside)
    }
    if let key = client.view.selected, client.principal.sees(key),
      let found = details(of: key, after: client.selectedRevision, forLink: client.principal.isLink)
    {
      client.selectedRevision = found.revision
      frames.append(found.frame)
    }
    // The holder of a link sees only the current state of one vehicle, and therefore no other sources.
    let isTime = client.sources.isEmpty || time >= client.sourcesToldAt.advanced(bySeconds: Self.sourcesPause)
    for (place, source) in sources.enumerated() where isTime && !client.principal.isLink {
      if client.sources.count <= place { client.sources.append(.max) }
      let revision = source.revision
      guard client.sources[place] != revision else { continue }
      client.sources[place] = revision
      client.sourcesToldAt = time
      if let frame = frame(of: place, client.principal) { frames.append(frame) }
    }
    if let farewell = client.farewell { frames += last(for: &client, reason: farewell) }
    if frames.isEmpty, time.seconds(since: client.handedAt) >= heartbeat {
      frames.append(vehicles([], nil, client.principal))
    }
    return frames
  }

  /// Returns the last update of a client.
  func last(for client: inout StreamClient, reason: String) -> [StreamFrame] {
    client.isEnded = true
    // The caller sends the header of a compressed stream before this frame if it is the stream's first one.
    client.isGreeted = true
    return [StreamFrame(event: "bye", json: JSONWriter.object { $0.field("reason", reason) })]
  }

  private func hello(_ id: String, _ client: StreamClient) -> StreamFrame {
    StreamFrame(
      event: "hello",
      json: JSONWriter.object { json in
        json.field("now", now.time.rfc3339)
        json.field("revision", table.revision)
        json.field("interval", client.view.interval, decimals: 3)
        json.field("id", id)
        json.field("instance", fleet.instance)
        json.field("broker") { link.write(to: &$0, for: client.principal) }
      })
  }

  /// Returns an event with vehicles.
  ///
  /// - Parameters:
  ///   - revision: the revision at which a client can resume; nil to leave it unchanged.
  ///   - keepsPlain: true if a client may need it uncompressed.
  private func vehicles(
    _ places: ArraySlice<Int>, _ revision: UInt64?, _ principal: Principal, keepsPlain: Bool = true
  ) -> StreamFrame {
    var json = JSONWriter(capacity: places.reduce(120) { $0 + table.entries[$1].json.count + 1 })
    json.openObject()
    json.field("revision", table.revision)
    json.field("now", now.time.rfc3339)
    json.key("vehicles")
    json.openArray()
    for place in places { json.raw(table.entries[place].json(for: principal, at: now)) }
    json.closeArray()
    json.closeObject()
    return StreamFrame(
      event: "vehicles", id: revision.map(fleet.eventID), json: json.bytes, keepsPlain: keepsPlain)
  }

  private func piece(_ principal: Principal, _ place: Int) -> StreamPieces.Piece {
    let key = StreamPieces.Key(scope: principal.scope, isLink: principal.isLink, place: place)
    if let piece = pieces[key] { return piece }
    let end = min(place + StreamPlan.pieceLength, table.entries.count)
    let places = place < end ? (place..<end).filter { isTold($0, principal) } : []
    // If the fleet is empty, an event without vehicles is sent.
    let isNeeded = !places.isEmpty || place == 0
    let piece = StreamPieces.Piece(
      frame: isNeeded ? vehicles(places[...], nil, principal) : nil, revision: table.revision,
      madeAt: now.timestamp, isLast: end >= table.entries.count)
    pieces[key] = piece
    return piece
  }

  /// Returns whether an entry is sent. Removals are included in the first update, because a reconnected
  /// client can still have the vehicle.
  private func isTold(_ place: Int, _ principal: Principal) -> Bool {
    !table.entries[place].json.isEmpty && principal.sees(table.entries[place].key)
  }

  private func changes(
    _ wanted: StreamPlan.Changes, _ principal: Principal, resumesAt revision: UInt64
  ) -> [StreamFrame] {
    if let made = changes[wanted] { return made }
    var places: [Int] = []
    table.forEachChange(since: min(wanted.inside, wanted.outside ?? .max)) { place in
      let entry = table.entries[place]
      guard principal.sees(entry.key) else { return }
      // Vehicles without a position count as inside of every view; they are few.
      let isInside = wanted.bounds.flatMap { bounds in entry.coordinate.map(bounds.contains) } ?? true
      let known = isInside ? wanted.inside : wanted.outside ?? .max
      if entry.revision > known { places.append(place) }
    }
    var frames: [StreamFrame] = []
    var rest = places[...]
    while !rest.isEmpty {
      let part = rest.prefix(Self.most)
      rest = rest.dropFirst(Self.most)
      frames.append(vehicles(part, rest.isEmpty ? revision : nil, principal, keepsPlain: keepsPlain))
    }
    changes[wanted] = frames
    return frames
  }

  private func details(
    of key: VehicleKey, after revision: UInt64, forLink isLink: Bool
  ) -> (frame: StreamFrame, revision: UInt64)? {
    guard let place = table.place(of: key), table.entries[place].detailRevision > revision else { return nil }
    let told = DetailKey(key: key, isLink: isLink)
    if let made = details[told] { return made }
    guard let found = fleet.details(of: key, at: now, forLink: isLink) else { return nil }
    let made = (frame: StreamFrame(event: "vehicle", json: found.json), revision: found.revision)
    details[told] = made
    return made
  }

  private func frame(of source: Int, _ principal: Principal) -> StreamFrame? {
    let key = SourceKey(source: source, principal: principal)
    if let made = told[key] { return made }
    let frame = sources[source].json(for: principal).map {
      StreamFrame(event: sources[source].event, json: $0)
    }
    told[key] = frame
    return frame
  }
}

extension BrokerLink {
  /// Writes the members of the connection's state. The description of a problem can contain other fleets and
  /// the broker, so it is only for those who see all fleets.
  func write(to json: inout JSONWriter, for principal: Principal) {
    json.field("connected", isConnected)
    json.field("complete", isComplete)
    if principal.scope.fleets == nil { json.field("trouble", trouble) }
    json.field("since", since?.time.rfc3339)
  }
}

extension LiveFleet {
  /// Returns the event identifier at which a client can resume.
  func eventID(_ revision: UInt64) -> String { "\(instance).\(revision)" }

  /// Returns the revision of an event identifier of this run; nil for other texts.
  func revision(of eventID: String) -> UInt64? {
    let parts = eventID.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 2, parts[0] == instance, let revision = UInt64(parts[1]) else { return nil }
    return withTable(at: .now) { revision <= $0.revision ? revision : nil }
  }
}
