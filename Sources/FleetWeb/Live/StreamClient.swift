internal import Compression
package import Fleet
internal import NIOCore

/// The view of a stream's client.
package struct StreamView: Hashable, Sendable {
  /// The area in which vehicles are sent immediately; nil for everywhere. Others are sent at most every
  /// `outsideInterval`.
  package var bounds: MapBounds?
  /// The vehicle of which all details are sent.
  package var selected: VehicleKey?
  /// The minimum interval in seconds between two updates.
  package var interval = 0.25

  /// The permitted intervals in seconds. A page cannot draw faster, and a slower one can poll instead.
  package static let intervals = 0.1...60
  static let outsideInterval = 5.0

  package init() {}
}

/// The progress of a client: the only state that is stored while it has not read its last update.
struct StreamCursor: Hashable, Sendable {
  /// The next index in the table during the first update of all vehicles; nil afterwards.
  var next: Int? = 0
  /// The revision up to which changes inside the client's view were sent…
  var inside: UInt64 = .max
  /// … and up to which all changes were sent.
  var outside: UInt64 = .max
  /// The time of the next update of all vehicles (monotonic ns).
  var sweepAt: Int64 = 0

  /// Creates a cursor that resumes after a lost connection.
  static func resuming(_ revision: UInt64) -> StreamCursor {
    StreamCursor(next: nil, inside: revision, outside: revision)
  }
}

/// The next update for a client, and its progress afterwards.
struct StreamPlan {
  /// A set of changes, shared by clients with the same view and progress.
  struct Changes: Hashable {
    var scope: Scope
    /// True for links, which get less data.
    var isLink: Bool
    /// The view; nil for everywhere.
    var bounds: MapBounds?
    var inside: UInt64
    /// The progress outside of the view; nil while it is not due.
    var outside: UInt64?
    /// The revision at which a client can resume, which is part of the events.
    var resumesAt: UInt64
  }

  enum Part {
    /// A part of the first update.
    case piece(Int)
    case changes(Changes)
  }

  var part: Part
  var cursor: StreamCursor

  /// The number of vehicles in an event of the first update: about 100 kB, for slow clients.
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
    // A client without bounds gets all changes each time; the times of a later view's full updates are
    // unchanged.
    guard now >= cursor.sweepAt else { return }
    let next = (cursor.sweepAt == 0 ? now : cursor.sweepAt) + Self.sweepInterval
    self.cursor.sweepAt = next > now ? next : now + Self.sweepInterval
  }

  /// Nanoseconds.
  private static let sweepInterval = Int64(StreamView.outsideInterval * 1e9)
  /// The number of parts of the interval, equal to the number of usual update intervals in it.
  private static let sweepParts: Int64 = 20

  /// Returns the time of the next full update. The first update included vehicles outside of the view.
  /// Clients with the same view are updated at the same times and share the result; others at different
  /// times, which needs less memory.
  private static func firstSweep(of bounds: MapBounds, after now: Int64) -> Int64 {
    let part = Int64(UInt64(truncatingIfNeeded: bounds.snapped.hashValue) % UInt64(sweepParts))
    let line = now / sweepInterval * sweepInterval + part * (sweepInterval / sweepParts)
    return line > now ? line : line + sweepInterval
  }
}

/// An open stream.
struct StreamClient: Sendable {
  let principal: Principal
  /// The permission to check; nil if it cannot be lost.
  let grant: AccessGrant?
  /// True if the client accepts compressed events.
  let isPacked: Bool
  let channel: any Channel
  var view: StreamView
  var cursor: StreamCursor
  /// The client task's wait between two writes; nil while it writes.
  var waiting: CheckedContinuation<[ByteBuffer]?, Never>?
  /// The time of the last data passed to it (monotonic ns); a stuck client is dropped.
  var handedAt: Int64
  /// The time of the next update (monotonic ns), common to all clients with the same interval.
  var dueAt: Int64 = 0
  var sum = GzipSum()
  var isGreeted = false
  /// The sent revision of the selected vehicle; 0 for none.
  var selectedRevision: UInt64 = 0
  /// The sent revision of each source.
  var sources: [UInt64] = []
  /// The time at which one of them was last sent (monotonic ns).
  var sourcesToldAt: Int64 = 0
  /// The last sent link state.
  var link: BrokerLink?
  /// The reason for ending after the next update.
  var farewell: String?
  var isEnded = false

  /// Returns the next common time.
  static func due(after now: Int64, interval: Double) -> Int64 {
    let step = max(1, Int64(interval * 1e9))
    return (now / step + 1) * step
  }
}
