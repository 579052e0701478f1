internal import Bytes
internal import Spatial
public import Telemetry

/// Identifies a trace among those of a fleet.
public struct TraceKey: Hashable, Sendable {
  public var vehicle: VehicleKey
  public var trace: JournalNumber

  public init(vehicle: VehicleKey, trace: JournalNumber) { (self.vehicle, self.trace) = (vehicle, trace) }
}

/// Puts traces together of the messages `trace` and `trace/piece`, in whatever order and how often they come.
///
/// Of a trace's messages the one of the greatest revision says how many pieces and bytes it has, and their CRC-32; what agrees with that
/// is whole. A vehicle that lost its power may cut a trace anew: of two pieces of one number the one that was cut later counts. Whatever
/// comes, no more is held than `Limits` say. A value type, without a clock.
public struct TraceAssembly: Sendable {
  /// How much is held at most.
  public struct Limits: Hashable, Sendable {
    /// Bytes of one trace. 30 s of six axes take 46 kB at 400 Hz, and 1 MB at 8 kHz.
    public var traceBytes = 16 << 20
    /// Bytes of all that are held; that to which nothing was added for the longest time makes room.
    public var bytes = 64 << 20
    /// Traces that are held.
    public var traces = 4096

    public init() {}
  }

  public enum State: Hashable, Sendable {
    /// Nothing was heard of it that says what it consists of: only pieces, or that it is being recorded.
    case unannounced
    /// The pieces that have not come yet, of so many.
    case missing([ClosedRange<Int>], of: Int)
    /// All pieces are there, and are not what was announced: why. Pieces that were cut later can mend it.
    case damaged(String)
    case whole([UInt8])
  }

  private struct Piece: Sendable {
    var time: Int64
    var bytes: [UInt8]
  }

  /// The pieces of one cutting, by their number.
  private struct Cut: Sendable {
    var pieces: [Int: Piece] = [:]
    var size = 0
    var used: UInt64 = 0
  }

  private struct Parts: Sendable {
    var message: TraceMessage?
    /// By how many pieces they say that there are.
    var cuts: [Int: Cut] = [:]
    var used: UInt64 = 0

    var cost: Int { TraceAssembly.overhead + cuts.values.reduce(0) { $0 + TraceAssembly.cost(of: $1) } }
  }

  /// Bytes that a trace, and a piece, take beside their contents.
  private static let overhead = 1024
  private static let pieceOverhead = 96
  /// Numbers of pieces that are believed of one trace at once: more than one only where it was cut anew.
  private static let mostCuts = 3

  private let limits: Limits
  private var traces: [TraceKey: Parts] = [:]
  private var cost = 0
  private var clock: UInt64 = 0
  /// Messages and pieces that cannot be: too large, or two of one number and time that are not alike.
  public private(set) var refused = 0
  /// Traces that made room for others before they were whole.
  public private(set) var forgotten = 0

  public init(limits: Limits = Limits()) { self.limits = limits }

  /// Those of which something is held.
  public var keys: some Collection<TraceKey> { traces.keys }

  /// What is known best of a trace; nil where no message of it has come.
  public func message(of key: TraceKey) -> TraceMessage? { traces[key]?.message }

  /// Takes a message in. One of a smaller revision than was heard changes nothing.
  /// - Returns: the trace where this has made it whole; nil where it is not, or was before.
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

  /// Takes a piece in.
  /// - Returns: as of a message.
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
      // This one is not among the others now.
      if parts.cuts.count >= Self.mostCuts {
        let others = parts.cuts.filter { $0.key != parts.message?.pieces }
        if let oldest = others.min(by: { $0.value.used < $1.value.used }) { parts.cuts[oldest.key] = nil }
      }
      return true
    }
    if isRefused { refused += 1 }
    return whole
  }

  /// Forgets a trace, as when it is whole and has been dealt with.
  public mutating func remove(_ key: TraceKey) {
    if let parts = traces.removeValue(forKey: key) { cost -= parts.cost }
  }

  /// How far a trace is.
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

  /// Changes what is held of a trace, and makes room.
  /// - Parameter body: whether it has changed anything.
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
