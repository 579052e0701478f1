internal import Fleet
internal import FleetStore
internal import Platform
internal import Spatial
internal import Telemetry

/// The driven routes for the map's background, newest first. Positions are in millionths of a degree.
struct WayLines: Sendable {
  /// Alternating latitudes and longitudes.
  private(set) var numbers: [Int32] = []
  /// The start of each route in `numbers`.
  private var starts: [Int] = []

  var placeCount: Int { numbers.count / 2 }

  /// The maximum number of positions: 8 MB.
  static let most = 1_000_000

  /// Appends a route.
  ///
  /// - Returns: true if there is space for more.
  mutating func append(_ way: [Coordinate]) -> Bool {
    guard way.count > 1 else { return true }
    guard placeCount + way.count <= Self.most else { return false }
    starts.append(numbers.count)
    for place in way {
      numbers.append(Int32(clamping: Int((place.latitude * 1e6).rounded())))
      numbers.append(Int32(clamping: Int((place.longitude * 1e6).rounded())))
    }
    return true
  }

  var wayCount: Int { starts.count }

  /// Returns a route; the newest has index 0.
  subscript(way: Int) -> ArraySlice<Int32> {
    numbers[starts[way]..<(way + 1 < starts.count ? starts[way + 1] : numbers.count)]
  }
}

/// A cache of driven routes by scope: reading takes seconds, and a map requests them at each movement.
final class RecordedWays: Sendable {
  private struct Held: Sendable {
    var lines: WayLines
    /// The time of reading (`SystemClock.monotonic`, ns).
    var time: Int64
  }

  /// The lifetime in ns; a background need not show the last minutes.
  private static let lifetime: Int64 = 600_000_000_000
  /// The maximum number of scopes; most users of a fleet have the same.
  private static let mostScopes = 4
  /// The number of newest trips to read.
  private static let mostTrips = 2000
  private static let tripsOfPage = 100
  /// The limits for vehicles without trips: vehicles, and positions in total, of the last day of each.
  private static let mostVehicles = 200
  private static let mostPositions = 300_000
  private static let pointsOfDay = 500

  private let held = Locked<[RecordingScope: Held]>([:])

  /// Returns the cached routes, or reads them.
  /// - Throws: `FleetError` if the recording is unreadable.
  func lines(
    _ scope: RecordingScope, from reader: HistoryReader, goesOn: () -> Bool
  ) throws -> WayLines {
    let now = SystemClock.monotonic
    if let known = held.withLock({ $0[scope] }), now - known.time < Self.lifetime { return known.lines }
    var lines = try Self.ways(ofTrips: scope, reader, goesOn)
    if lines.wayCount == 0 { lines = try Self.ways(ofPositions: scope, reader, goesOn) }
    guard goesOn() else { throw CancellationError() }
    held.withLock { held in
      if held[scope] == nil, held.count >= Self.mostScopes,
        let oldest = held.min(by: { $0.value.time < $1.value.time })?.key
      {
        held[oldest] = nil
      }
      held[scope] = Held(lines: lines, time: now)
    }
    return lines
  }

  private static func ways(
    ofTrips scope: RecordingScope, _ reader: HistoryReader, _ goesOn: () -> Bool
  ) throws -> WayLines {
    var lines = WayLines()
    var query = JournalQuery(.trips, limit: tripsOfPage)
    query.part.scope = scope
    guard reader.hasJournal else { return lines }
    for _ in 0..<mostTrips / tripsOfPage where goesOn() {
      let page = try reader.page(query)
      for entry in page {
        guard let way = HistoryDocuments.way(entry.payload) else { continue }
        guard lines.append(way) else { return lines }
      }
      guard page.count == tripsOfPage else { break }
      query.after = page.last?.place
    }
    return lines
  }

  private static func ways(
    ofPositions scope: RecordingScope, _ reader: HistoryReader, _ goesOn: () -> Bool
  ) throws -> WayLines {
    var lines = WayLines()
    var left = mostPositions
    let newest = try reader.newest(scope).sorted { $0.time > $1.time }
    for (vehicle, time) in newest.prefix(mostVehicles) where left > 0 && goesOn() {
      var thinner = TrackThinner(points: pointsOfDay)
      let span = TrackSpan(
        vehicle: vehicle, from: time.advanced(bySeconds: -86_400), to: time.advanced(bySeconds: 1))
      try reader.readTrack(span) { sample in
        thinner.process(sample)
        left -= 1
        return left > 0
      }
      for segment in TrackSegments.of(thinner.finish(goesOn: goesOn).samples) {
        guard lines.append(segment.map(\.coordinate)) else { return lines }
      }
    }
    return lines
  }
}

/// The division of a track into lines, at long gaps and at positions from radio beacons.
enum TrackSegments {
  static func of(_ samples: [TrackSample]) -> [ArraySlice<TrackSample>] {
    var segments: [ArraySlice<TrackSample>] = []
    var start = 0
    for index in samples.indices where index > 0 {
      let (before, sample) = (samples[index - 1], samples[index])
      let isGap = Double(sample.time - before.time) > TrackThinner.gap * 1000
      guard isGap || sample.source == .coarse || before.source == .coarse else { continue }
      segments.append(samples[start..<index])
      start = index
    }
    if start < samples.count { segments.append(samples[start...]) }
    return segments
  }
}
