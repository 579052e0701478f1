internal import Compression
package import Fleet
internal import NIOCore
package import Platform

/// The view of a stream's client.
package struct StreamView: Hashable, Sendable {
  /// The area whose vehicles are sent at each update; nil for everywhere. Vehicles outside of it are sent at
  /// most every `outsideInterval`.
  package var bounds: MapBounds?
  /// The vehicle of which all details are sent; nil for none.
  package var selected: VehicleKey?
  /// The minimum interval in seconds between two updates.
  package var interval = 0.25

  /// The permitted intervals in seconds. A page cannot draw more often than every 0.1 s, and one that needs
  /// updates less than once a minute can poll instead.
  package static let intervals = 0.1...60
  static let outsideInterval = 5.0

  package init() {}
}

/// The progress of a client: the only state that is stored while it has not read its last update.
package struct StreamCursor: Hashable, Sendable {
  /// The next index in the table during the first update of all vehicles; nil afterwards.
  package var next: Int? = 0
  /// The revision up to which changes inside the client's view were sent; `.max` before the first update.
  var inside: UInt64 = .max
  /// The revision up to which all changes were sent, also those outside of the view; `.max` before the first
  /// update.
  package var outside: UInt64 = .max
  /// The time of the next update that includes vehicles outside of the view.
  package var sweepAt = MonotonicTime.start

  /// Creates the cursor of a client that reconnects, and already has all changes up to a revision.
  package static func resuming(_ revision: UInt64) -> StreamCursor {
    StreamCursor(next: nil, inside: revision, outside: revision)
  }
}

/// The next update for a client, and its progress afterwards.
package struct StreamPlan {
  /// A set of changes, shared by clients with the same view and progress.
  package struct Changes: Hashable {
    var scope: Scope
    /// True for links, which get less data.
    var isLink: Bool
    /// The view; nil for everywhere.
    var bounds: MapBounds?
    var inside: UInt64
    /// The revision up to which changes outside of the view were sent; nil if this update does not include
    /// them.
    var outside: UInt64?
    /// The revision at which a client can resume after this update; sent as the event's identifier.
    var resumesAt: UInt64
  }

  package enum Part {
    /// A part of the first update, which starts at this index of the table.
    case piece(Int)
    case changes(Changes)
  }

  package var part: Part
  package var cursor: StreamCursor

  /// The number of vehicles in an event of the first update: about 100 kB, for slow clients.
  static let pieceLength = 250

  package init(
    _ cursor: StreamCursor, _ view: StreamView, _ scope: Scope, isLink: Bool = false, revision: UInt64,
    at now: MonotonicTime
  ) {
    self.cursor = cursor
    if let next = cursor.next {
      part = .piece(next)
      self.cursor.next = next + Self.pieceLength
      self.cursor.sweepAt = view.bounds.map { Self.firstSweep(of: $0, after: now) } ?? .start
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
    // A client without bounds gets all changes at each update. The time of the next full update still
    // advances only when it is due, for bounds that the client sets later.
    guard now >= cursor.sweepAt else { return }
    let next = (cursor.sweepAt == .start ? now : cursor.sweepAt).advanced(bySeconds: Self.sweepInterval)
    self.cursor.sweepAt = next > now ? next : now.advanced(bySeconds: Self.sweepInterval)
  }

  /// The time in s between updates that include vehicles outside of the view.
  private static let sweepInterval = StreamView.outsideInterval
  /// The number of different times within `sweepInterval` at which clients get full updates: one for each
  /// update at the default interval.
  private static let sweepParts: Int64 = 20

  /// Returns the time of the first full update after the initial one, which already included vehicles
  /// outside of the view. Clients with the same view are updated at the same time and share the result. Clients with other views are updated at other times, which needs less memory.
  private static func firstSweep(of bounds: MapBounds, after now: MonotonicTime) -> MonotonicTime {
    let interval = Int64(sweepInterval * 1e9)
    let part = Int64(UInt64(truncatingIfNeeded: bounds.snapped.hashValue) % UInt64(sweepParts))
    let line = MonotonicTime(
      nanoseconds: now.nanoseconds / interval * interval + part * (interval / sweepParts))
    return line > now ? line : line.advanced(bySeconds: sweepInterval)
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
  /// The continuation of the client's task while it waits for the next update; nil while it writes.
  var waiting: CheckedContinuation<[ByteBuffer]?, Never>?
  /// The time at which the client was last given data or has read a part of it; a client that has read
  /// nothing for too long is dropped.
  var handedAt: MonotonicTime
  /// The time of the next update, common to all clients with the same interval.
  var dueAt = MonotonicTime.start
  var sum = GzipSum()
  var isGreeted = false
  /// The last sent revision of the selected vehicle's details; 0 for none.
  var selectedRevision: UInt64 = 0
  /// The last sent revision of each source, `.max` before the first.
  var sources: [UInt64] = []
  /// The time at which the state of any source was last sent.
  var sourcesToldAt = MonotonicTime.start
  /// The last sent state of the broker connection; nil before the first event.
  var link: BrokerLink?
  /// The reason for which the stream ends after the next update; nil if it continues.
  var farewell: String?
  var isEnded = false

  /// Returns the next update time that all clients with this interval share.
  static func due(after now: MonotonicTime, interval: Double) -> MonotonicTime {
    let step = max(1, Int64(interval * 1e9))
    return MonotonicTime(nanoseconds: (now.nanoseconds / step + 1) * step)
  }
}
