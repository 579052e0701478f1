internal import Bytes
internal import Spatial
public import Telemetry

/// The vehicle of a trace and the number of the trace.
public struct TraceKey: Hashable, Sendable {
  public var vehicle: VehicleKey
  public var trace: JournalNumber

  public init(vehicle: VehicleKey, trace: JournalNumber) { (self.vehicle, self.trace) = (vehicle, trace) }
}

/// Assembles traces from `trace` and `trace/piece` messages, which can arrive in any order and more than
/// once.
///
/// The `trace` message of the highest revision contains the number of pieces, their total size and their
/// CRC-32. A trace is complete when all pieces have arrived and match. A vehicle that lost its power can
/// divide a trace into pieces again. Of two pieces with the same number, the one with the later time is used.
/// `Limits` bound the memory for any input. A value type without a clock.
public struct TraceAssembly: Sendable {
  /// The memory limits.
  public struct Limits: Hashable, Sendable {
    /// The maximum size of a trace in bytes. 30 s of six axes need 46 kB at 400 Hz, and 1 MB at 8 kHz.
    public var traceBytes = 16 << 20
    /// The maximum size of all stored traces in bytes. Beyond it, the trace whose last piece is the oldest is
    /// dropped.
    public var bytes = 64 << 20
    /// The maximum number of stored traces.
    public var traces = 4096

    public init() {}
  }

  public enum State: Hashable, Sendable {
    /// The number of pieces is unknown, because no `trace` message has arrived, or the trace was still being
    /// recorded at the last one.
    case unannounced
    /// Pieces are missing; with the numbers of the missing pieces, and the total number of pieces.
    case missing([ClosedRange<Int>], of: Int)
    /// All pieces have arrived, but do not match the `trace` message; with the reason. Pieces with a later
    /// time can repair the trace.
    case damaged(String)
    case whole([UInt8])
  }

  private struct Piece: Sendable {
    var time: UTCTime
    var bytes: [UInt8]
  }

  /// The pieces of one division of a trace, by number.
  private struct Cut: Sendable {
    var pieces: [Int: Piece] = [:]
    var size = 0
    var used: UInt64 = 0
  }

  private struct Parts: Sendable {
    var message: TraceMessage?
    /// The divisions of the trace, by their total number of pieces.
    var cuts: [Int: Cut] = [:]
    var used: UInt64 = 0

    var cost: Int { TraceAssembly.overhead + cuts.values.reduce(0) { $0 + TraceAssembly.cost(of: $1) } }
  }

  /// The memory in bytes that is assumed for a trace, in addition to its data.
  private static let overhead = 1024
  /// The memory in bytes that is assumed for a piece, in addition to its data.
  private static let pieceOverhead = 96
  /// The maximum number of divisions of a trace that are stored. There is more than one only if the vehicle
  /// divided the trace again.
  private static let mostCuts = 3

  private let limits: Limits
  private var traces: [TraceKey: Parts] = [:]
  private var cost = 0
  private var clock: UInt64 = 0
  /// The number of invalid messages and pieces: too large, or with other data than an earlier piece of the
  /// same number and time.
  public private(set) var refused = 0
  /// The number of incomplete traces that were dropped because of the limits.
  public private(set) var forgotten = 0

  public init(limits: Limits = Limits()) { self.limits = limits }

  /// The keys of all stored traces.
  public var keys: some Collection<TraceKey> { traces.keys }

  /// Returns the message of the highest revision about a trace; nil if none has arrived.
  public func message(of key: TraceKey) -> TraceMessage? { traces[key]?.message }

  /// Adds a `trace` message. It is ignored if its revision is not higher than that of the stored message.
  /// - Returns: the content of the trace if this message completed it; nil otherwise.
  @discardableResult
  public mutating func add(_ message: TraceMessage, of vehicle: VehicleKey) -> [UInt8]? {
    guard message.size ?? 0 <= limits.traceBytes, message.cause.name.utf8.count <= Self.overhead / 2 else {
      refused += 1
      return nil
    }
    return change(TraceKey(vehicle: vehicle, trace: message.trace)) { parts in
      if let known = parts.message, Self.rank(known) >= Self.rank(message) { return false }
      parts.message = message
      return true
    }
  }

  private static func rank(_ message: TraceMessage) -> (Int, Int) {
    (message.revision, message.size == nil ? 0 : 1)
  }

  /// Adds a piece of a trace.
  /// - Returns: the content of the trace if this piece completed it; nil otherwise.
  @discardableResult
  public mutating func add(_ piece: TracePieceMessage, of vehicle: VehicleKey) -> [UInt8]? {
    guard piece.piece >= 1, piece.piece <= piece.pieces, piece.pieces <= limits.traceBytes,
      !piece.bytes.isEmpty, piece.bytes.count <= TracePieceMessage.largestSize
    else {
      refused += 1
      return nil
    }
    let (moment, limit) = (clock, limits.traceBytes)
    var isRefused = false
    let whole = change(TraceKey(vehicle: vehicle, trace: piece.trace)) { parts in
      var cut = parts.cuts.removeValue(forKey: piece.pieces) ?? Cut()
      defer { parts.cuts[piece.pieces] = cut }
      cut.used = moment
      let known = cut.pieces[piece.piece]
      if let known, known.bytes == piece.bytes || known.time >= piece.time {
        isRefused = known.bytes != piece.bytes && known.time == piece.time
        return false
      }
      let size = cut.size - (known?.bytes.count ?? 0) + piece.bytes.count
      guard size <= limit else {
        isRefused = true
        return false
      }
      cut.size = size
      cut.pieces[piece.piece] = Piece(time: piece.time, bytes: piece.bytes)
      // The division of this piece is not in `parts.cuts` at this point, so it cannot be dropped here.
      if parts.cuts.count >= Self.mostCuts {
        let others = parts.cuts.filter { $0.key != parts.message?.pieces }
        if let oldest = others.min(by: { $0.value.used < $1.value.used }) { parts.cuts[oldest.key] = nil }
      }
      return true
    }
    if isRefused { refused += 1 }
    return whole
  }

  /// Removes a trace and its pieces, for example after the trace was processed.
  public mutating func remove(_ key: TraceKey) {
    if let parts = traces.removeValue(forKey: key) { cost -= parts.cost }
  }

  /// Returns the state of a trace.
  public func state(of key: TraceKey) -> State {
    guard let parts = traces[key], let message = parts.message, let size = message.size,
      let count = message.pieces, let checksum = message.checksum
    else { return .unannounced }
    let cut = parts.cuts[count] ?? Cut()
    guard cut.pieces.count == count else { return .missing(Self.missing(cut, of: count), of: count) }
    guard cut.size == size else { return .damaged("its pieces have \(cut.size) bytes and not \(size)") }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(size)
    for number in 1...count { bytes += cut.pieces[number]?.bytes ?? [] }
    guard CRC32.checksum(bytes) == checksum else {
      return .damaged("the checksum of its pieces differs from the announced one")
    }
    return .whole(bytes)
  }

  private static func missing(_ cut: Cut, of count: Int) -> [ClosedRange<Int>] {
    var (missing, next): ([ClosedRange<Int>], Int) = ([], 1)
    for number in cut.pieces.keys.sorted() {
      if number > next { missing.append(next...(number - 1)) }
      next = number + 1
    }
    if next <= count { missing.append(next...count) }
    return missing
  }

  private static func cost(of cut: Cut) -> Int { cut.size + pieceOverhead * cut.pieces.count }

  /// Modifies a stored trace, and drops other traces if a limit is exceeded.
  /// - Parameters:
  ///   - key: the trace; created if it is not stored yet.
  ///   - body: modifies the trace; returns true if it changed anything.
  /// - Returns: the content of the trace if the change completed it; nil otherwise.
  private mutating func change(_ key: TraceKey, _ body: (inout Parts) -> Bool) -> [UInt8]? {
    clock += 1
    var parts = traces.removeValue(forKey: key) ?? Parts()
    if parts.used > 0 { cost -= parts.cost }
    parts.used = clock
    let hasChanged = body(&parts)
    let isComplete = parts.message?.pieces.map { parts.cuts[$0]?.pieces.count == $0 } ?? false
    cost += parts.cost
    traces[key] = parts
    while cost > limits.bytes || traces.count > limits.traces, let oldest = oldest(but: key) {
      remove(oldest)
      forgotten += 1
    }
    guard hasChanged, isComplete, case .whole(let bytes) = state(of: key) else { return nil }
    return bytes
  }

  private func oldest(but key: TraceKey) -> TraceKey? {
    traces.lazy.filter { $0.key != key }.min { $0.value.used < $1.value.used }?.key
  }
}
