internal import Bytes
internal import Spatial
public import Telemetry

/// The identity of a trace in a fleet.
public struct TraceKey: Hashable, Sendable {
  public var vehicle: VehicleKey
  public var trace: JournalNumber

  public init(vehicle: VehicleKey, trace: JournalNumber) { (self.vehicle, self.trace) = (vehicle, trace) }
}

/// An assembler of traces from `trace` and `trace/piece` messages, in any order and with duplicates.
///
/// The message of the highest revision announces the number of pieces and bytes and their CRC-32; pieces that
/// match are a complete trace. A vehicle that lost its power can cut a trace anew: of two pieces with the
/// same number the one that was cut later is used. Memory is bounded by `Limits` for any input. A value type
/// without a clock.
public struct TraceAssembly: Sendable {
  /// The memory limits.
  public struct Limits: Hashable, Sendable {
    /// The maximum size of a trace in bytes. 30 s of six axes need 46 kB at 400 Hz, and 1 MB at 8 kHz.
    public var traceBytes = 16 << 20
    /// The maximum size of all stored data in bytes; the least recently extended trace is dropped.
    public var bytes = 64 << 20
    /// The maximum number of stored traces.
    public var traces = 4096

    public init() {}
  }

  public enum State: Hashable, Sendable {
    /// No announcement has arrived: only pieces, or a message of a trace that is still being recorded.
    case unannounced
    /// The missing pieces, and the total number.
    case missing([ClosedRange<Int>], of: Int)
    /// A complete set of pieces that does not match the announcement, with the reason. Pieces that were cut
    /// later can repair it.
    case damaged(String)
    case whole([UInt8])
  }

  private struct Piece: Sendable {
    var time: Int64
    var bytes: [UInt8]
  }

  /// The pieces of one cutting, by number.
  private struct Cut: Sendable {
    var pieces: [Int: Piece] = [:]
    var size = 0
    var used: UInt64 = 0
  }

  private struct Parts: Sendable {
    var message: TraceMessage?
    /// The cuttings, by their total number of pieces.
    var cuts: [Int: Cut] = [:]
    var used: UInt64 = 0

    var cost: Int { TraceAssembly.overhead + cuts.values.reduce(0) { $0 + TraceAssembly.cost(of: $1) } }
  }

  /// The overhead of a trace and of a piece in bytes.
  private static let overhead = 1024
  private static let pieceOverhead = 96
  /// The maximum number of cuttings of a trace; more than one exists only if it was cut anew.
  private static let mostCuts = 3

  private let limits: Limits
  private var traces: [TraceKey: Parts] = [:]
  private var cost = 0
  private var clock: UInt64 = 0
  /// Invalid messages and pieces: too large, or different from another one with the same number and time.
  public private(set) var refused = 0
  /// Incomplete traces that were dropped in favour of others.
  public private(set) var forgotten = 0

  public init(limits: Limits = Limits()) { self.limits = limits }

  /// The keys of all stored traces.
  public var keys: some Collection<TraceKey> { traces.keys }

  /// Returns the latest message of a trace; nil if none has arrived.
  public func message(of key: TraceKey) -> TraceMessage? { traces[key]?.message }

  /// Adds a message. A lower revision than the stored one changes nothing.
  /// - Returns: the trace if this message completed it; nil otherwise.
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

  /// Adds a piece.
  /// - Returns: the trace if this piece completed it; nil otherwise.
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
      if let known, known.bytes == piece.bytes || known.time >= piece.time.nanoseconds {
        isRefused = known.bytes != piece.bytes && known.time == piece.time.nanoseconds
        return false
      }
      let size = cut.size - (known?.bytes.count ?? 0) + piece.bytes.count
      guard size <= limit else {
        isRefused = true
        return false
      }
      cut.size = size
      cut.pieces[piece.piece] = Piece(time: piece.time.nanoseconds, bytes: piece.bytes)
      // This cutting is not one of the others yet.
      if parts.cuts.count >= Self.mostCuts {
        let others = parts.cuts.filter { $0.key != parts.message?.pieces }
        if let oldest = others.min(by: { $0.value.used < $1.value.used }) { parts.cuts[oldest.key] = nil }
      }
      return true
    }
    if isRefused { refused += 1 }
    return whole
  }

  /// Removes a trace, for example after it was processed.
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
      return .damaged("the checksum of its pieces is not the one that was announced")
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

  /// Modifies a stored trace, and drops others if necessary.
  /// - Parameter body: returns true if it changed anything.
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
