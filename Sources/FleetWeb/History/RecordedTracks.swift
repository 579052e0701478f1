internal import Fleet
package import FleetStore
internal import Platform
internal import Spatial
internal import Telemetry

/// The driven routes for the map's background, newest first. Positions are in millionths of a degree.
struct TrackLines: Sendable {
  /// Alternating latitudes and longitudes.
  private(set) var numbers: [Int32] = []
  /// The start of each route in `numbers`.
  private var starts: [Int] = []

  var placeCount: Int { numbers.count / 2 }

  /// The maximum number of positions: 8 MB.
  static let most = 1_000_000

  /// True if there is space for another route of 10,000 positions.
  var hasRoom: Bool { placeCount + 10_000 <= Self.most }

  /// Appends a route; one of a single position is ignored.
  ///
  /// - Returns: false if there is no space for the route.
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
final class RecordedTracks: Sendable {
  private struct Held: Sendable {
    var lines: TrackLines
    /// The time of reading.
    var time: MonotonicTime
  }

  /// The lifetime of cached routes in s: the map's background need not show the last minutes.
  private static let lifetime = 600.0
  /// The maximum number of scopes whose routes are cached; most users of a fleet have the same scope.
  private static let mostScopes = 4
  /// The maximum number of trips to read, newest first.
  private static let mostTrips = 2000
  private static let tripsOfPage = 100
  /// The maximum number of positions to read, shared by the vehicles.
  private static let mostPositions = 2_000_000
  /// The number of positions to which the track of a day is simplified.
  private static let pointsOfDay = 500
  /// The maximum length of a period that is read at once, in days. Its length starts at one day, and doubles
  /// after each period without positions.
  private static let longestPart = 64.0

  private let held = Locked<[RecordingScope: Held]>([:])

  /// Returns the cached routes, or reads them.
  /// - Throws: `FleetError` if the recording is unreadable.
  func lines(
    _ scope: RecordingScope, from reader: HistoryReader, shouldContinue: () -> Bool
  ) throws -> TrackLines {
    let now = MonotonicTime.now
    if let known = held.withLock({ $0[scope] }), now.seconds(since: known.time) < Self.lifetime {
      return known.lines
    }
    var lines = TrackLines()
    let recorded = try Self.append(positionsOf: scope, to: &lines, reader, shouldContinue)
    try Self.append(tripsOf: scope, without: recorded, to: &lines, reader, shouldContinue)
    guard shouldContinue() else { throw CancellationError() }
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

  /// The spans of time with recorded positions, in milliseconds since 1970.
  private typealias Spans = [VehicleKey: [ClosedRange<Int64>]]

  /// Appends the lines of all positions of each vehicle, newest first.
  private static func append(
    positionsOf scope: RecordingScope, to lines: inout TrackLines, _ reader: HistoryReader,
    _ shouldContinue: () -> Bool
  ) throws -> Spans {
    var spans: Spans = [:]
    var left = mostPositions
    let newest = try reader.newest(scope).sorted { $0.time > $1.time }
    for (place, (vehicle, time)) in newest.enumerated() where shouldContinue() && lines.hasRoom {
      guard let first = try reader.extent(of: vehicle, from: nil, to: nil)?.from else { continue }
      var share = left / (newest.count - place)
      left -= share
      var end = time.advanced(bySeconds: 0.001)
      var days = 1.0
      while end > first, share > 0, shouldContinue(), lines.hasRoom {
        let begin = end.advanced(bySeconds: -days * 86_400)
        var thinner = TrackSimplifier(points: pointsOfDay)
        var earliest: TrackSample?
        try reader.readTrack(TrackSpan(vehicle: vehicle, from: begin, to: end)) { sample in
          earliest = earliest ?? sample
          thinner.process(sample)
          share -= 1
          return shouldContinue()
        }
        for segment in TrackSegments.of(thinner.finish(shouldContinue: shouldContinue)).reversed() {
          // A single position is no line.
          guard segment.count > 1, let first = segment.first, let last = segment.last else { continue }
          spans[vehicle, default: []].append(first.time...last.time)
          guard lines.append(segment.map(\.coordinate)) else { return spans }
        }
        // The recording is read backwards. The next, earlier period ends with the first position of this one,
        // so that their lines connect.
        let continued = earliest.map { $0.moment.advanced(bySeconds: 0.001) }.flatMap { $0 < end ? $0 : nil }
        end = continued ?? begin
        days = continued == nil ? min(days * 2, longestPart) : 1
      }
      left += share
    }
    return spans
  }

  /// Appends the tracks of trips of which no positions were recorded, newest first.
  private static func append(
    tripsOf scope: RecordingScope, without recorded: Spans, to lines: inout TrackLines,
    _ reader: HistoryReader,
    _ shouldContinue: () -> Bool
  ) throws {
    var query = JournalQuery(.trips, limit: tripsOfPage)
    query.part.scope = scope
    guard reader.hasJournal else { return }
    for _ in 0..<mostTrips / tripsOfPage where shouldContinue() {
      let page = try reader.page(query)
      for entry in page {
        let start = entry.place.time - 60_000...entry.place.time + 300_000
        if recorded[entry.place.vehicle]?.contains(where: { $0.overlaps(start) }) == true { continue }
        guard let way = HistoryDocuments.way(entry.payload) else { continue }
        guard lines.append(way) else { return }
      }
      guard page.count == tripsOfPage else { return }
      query.after = page.last?.place
    }
  }
}

/// The division of a track into lines, at long gaps, suspect positions and positions from radio beacons.
package enum TrackSegments {
  package static func of(_ track: TrackSimplifier.Result) -> [ArraySlice<TrackSample>] {
    let samples = track.samples
    var segments: [ArraySlice<TrackSample>] = []
    var (start, gaps) = (0, track.gaps[...])
    for index in samples.indices where index > 0 {
      let isGap = gaps.first == index
      if isGap { gaps.removeFirst() }
      guard isGap || samples[index - 1...index].contains(where: { !$0.source.isOnPath }) else { continue }
      segments.append(samples[start..<index])
      start = index
    }
    if start < samples.count { segments.append(samples[start...]) }
    return segments
  }
}
