internal import Compression
package import Fleet
internal import NIOCore

/// What a stream's client looks at.
package struct StreamView: Hashable, Sendable {
  /// Where vehicles are told as they come; nil is everywhere. Beyond it each is told every `outsideInterval` at most.
  package var bounds: MapBounds?
  /// The vehicle of which everything is told.
  package var selected: VehicleKey?
  /// Seconds between two tellings at least.
  package var interval = 0.25

  /// Seconds; below the least a page cannot draw, beyond the greatest it might as well ask.
  package static let intervals = 0.1...60
  static let outsideInterval = 5.0

  package init() {}
}

/// How far a client has been told: never more than this is kept of what it has not taken yet.
struct StreamCursor: Hashable, Sendable {
  /// While the first telling of all vehicles goes on: the next place in the table. Nil afterwards.
  var next: Int? = 0
  /// Changes up to this were told of vehicles that the client looks at…
  var inside: UInt64 = .max
  /// … and up to this of all.
  var outside: UInt64 = .max
  /// When all are told next (monotonic ns).
  var sweepAt: Int64 = 0

  /// Goes on behind what a client was told before it lost its connection.
  static func resuming(_ revision: UInt64) -> StreamCursor {
    StreamCursor(next: nil, inside: revision, outside: revision)
  }
}

/// What is to be told to a client, and how far it has been told then.
struct StreamPlan {
  /// Which changes: those that look at the same, from the same on, share them.
  struct Changes: Hashable {
    var scope: Scope
    /// Whether for links, which are told less.
    var isLink: Bool
    /// Nil for everywhere.
    var bounds: MapBounds?
    var inside: UInt64
    /// Nil while what is outside of the bounds waits.
    var outside: UInt64?
    /// What a client may go on behind, which stands in the events themselves.
    var resumesAt: UInt64
  }

  enum Part {
    /// Of the first telling.
    case piece(Int)
    case changes(Changes)
  }

  var part: Part
  var cursor: StreamCursor

  /// Vehicles in an event of the first telling: some 100 kB, which a slow client can take in its time.
  static let pieceLength = 250

  init(
    _ cursor: StreamCursor, _ view: StreamView, _ scope: Scope, isLink: Bool = false, revision: UInt64,
    at now: Int64
  ) {
    self.cursor = cursor
    if let next = cursor.next {
      part = .piece(next)
      self.cursor.next = next + Self.pieceLength
      self.cursor.sweepAt = view.bounds.map { Self.firstSweep(of: $0, after: now) } ?? 0
      return
    }
    let isSweep = view.bounds == nil || now >= cursor.sweepAt
    part = .changes(
      .init(
        scope: scope, isLink: isLink, bounds: view.bounds?.snapped, inside: cursor.inside,
        outside: isSweep ? cursor.outside : nil, resumesAt: isSweep ? revision : cursor.outside))
    self.cursor.inside = revision
    guard isSweep else { return }
    self.cursor.outside = revision
    // Whoever looks at all is told of all each time; the sweeps of a part that is looked at later keep their times.
    guard now >= cursor.sweepAt else { return }
    let next = (cursor.sweepAt == 0 ? now : cursor.sweepAt) + Self.sweepInterval
    self.cursor.sweepAt = next > now ? next : now + Self.sweepInterval
  }

  /// Nanoseconds.
  private static let sweepInterval = Int64(StreamView.outsideInterval * 1e9)
  /// Parts of the interval: as many as it has of the usual pauses between two tellings.
  private static let sweepParts: Int64 = 20

  /// What is outside was told by the first telling. Those who look at the same are told again at the same times, and share what is
  /// made; those who look at something else at others, as one after the other takes less memory than all at once.
  private static func firstSweep(of bounds: MapBounds, after now: Int64) -> Int64 {
    let part = Int64(UInt64(truncatingIfNeeded: bounds.snapped.hashValue) % UInt64(sweepParts))
    let line = now / sweepInterval * sweepInterval + part * (sweepInterval / sweepParts)
    return line > now ? line : line + sweepInterval
  }
}

/// An open stream.
struct StreamClient: Sendable {
  let principal: Principal
  /// Says whether they may still see it; nil for nobody who could lose that.
  let grant: AccessGrant?
  /// Whether it takes its events packed.
  let isPacked: Bool
  let channel: any Channel
  var view: StreamView
  var cursor: StreamCursor
  /// What the client's task waits with, between two writes; nil while it writes.
  var waiting: CheckedContinuation<[ByteBuffer]?, Never>?
  /// When it was last handed something (monotonic ns): where it takes nothing for long, it goes.
  var handedAt: Int64
  /// When it is told next (monotonic ns), on a line that all clients of an interval share.
  var dueAt: Int64 = 0
  var sum = GzipSum()
  var isGreeted = false
  /// Of the selected vehicle; 0 for nothing told.
  var selectedRevision: UInt64 = 0
  /// Of each source.
  var sources: [UInt64] = []
  /// When one of them was told last (monotonic ns).
  var sourcesToldAt: Int64 = 0
  /// The last told.
  var link: BrokerLink?
  /// Why it ends after what it is told next.
  var farewell: String?
  var isEnded = false

  /// The next time on the line.
  static func due(after now: Int64, interval: Double) -> Int64 {
    let step = max(1, Int64(interval * 1e9))
    return (now / step + 1) * step
  }
}
