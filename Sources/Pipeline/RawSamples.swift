package import Sensors
package import Spatial
package import Telemetry

/// Raw samples requested by a command: collected for a limited time at a limited rate, and returned in parts.
/// A value without I/O.
package struct RawSamples: Sendable {
  /// Parameters of a request.
  package struct Request: Hashable, Sendable {
    package var seconds: Double
    /// Sample rate in Hz of each kind of sensor.
    package var rate: Double
    package var kinds: Set<SamplePiece.Kind>

    package init(seconds: Double, rate: Double, kinds: Set<SamplePiece.Kind>) {
      self.seconds = seconds
      self.rate = rate
      self.kinds = kinds
    }
  }

  /// A part of the response to a request.
  package struct Part: Hashable, Sendable {
    package var sender: PendingCommands.Sender
    package var piece: SamplePiece
    /// The kinds of sensors whose samples are published.
    package var kinds: [SamplePiece.Kind]
    /// Index of the part, from 0.
    package var number: Int
    /// True if further parts follow.
    package var hasMore: Bool
  }

  fileprivate struct Recording: Sendable {
    let sender: PendingCommands.Sender
    let request: Request
    /// Time by the machine's clock after which the collection ends, even if samples are missing.
    let deadline: Timestamp
    var origin: (timestamp: Timestamp, time: UTCTime)?
    var due: [SamplePiece.Kind: Timestamp] = [:]
    var piece: SamplePiece?
    var pieceBegan: Timestamp?
    var newest: Timestamp?
    var number = 0
    var isOver = false

    init(sender: PendingCommands.Sender, request: Request, deadline: Timestamp) {
      self.sender = sender
      self.request = request
      self.deadline = deadline
    }
  }

  private var recordings: [Recording] = []

  /// Maximum number of simultaneous collections.
  package static let capacity = 4
  /// Maximum time in s to wait for the first sample.
  package static let startTimeout = 10.0
  /// Maximum time in s that a part covers.
  private static let pieceSeconds = 1.0
  /// Maximum number of samples in a part.
  private static let pieceCount = 2000

  package init() {}

  /// Starts a collection.
  /// - Parameter now: current time by the machine's clock.
  /// - Returns: false if the maximum number of collections is reached.
  package mutating func begin(
    _ request: Request, _ sender: PendingCommands.Sender, at now: Timestamp
  ) -> Bool {
    guard recordings.count < Self.capacity else { return false }
    recordings.append(
      Recording(
        sender: sender, request: request,
        deadline: now.advanced(bySeconds: request.seconds + Self.startTimeout)))
    return true
  }

  /// Sample rate in Hz that the collections require, by kind of sensor.
  package var rates: [SensorKind: Double] {
    var rates: [SensorKind: Double] = [:]
    for recording in recordings {
      for kind in recording.request.kinds {
        rates[kind.sensor] = max(rates[kind.sensor] ?? 0, recording.request.rate)
      }
    }
    return rates
  }

  /// The next time at which a collection ends, even if samples are missing.
  package var nextDeadline: Timestamp? { recordings.map(\.deadline).min() }

  /// Collects samples from an event.
  /// - Parameter utc: returns the civil time of a timestamp.
  package mutating func process(_ event: SensorEvent, utc: (Timestamp) -> UTCTime) {
    guard !recordings.isEmpty else { return }
    for index in recordings.indices {
      switch event {
      case .inertial(let block):
        for scan in block { recordings[index].process(scan, utc) }
      case .barometer(let block):
        for data in block { recordings[index].append(.barometer, [data.pressure], data.timestamp, utc) }
      case .position, .vehicle, .radio, .status: break
      }
    }
  }

  /// Removes and returns completed parts, including the last parts of completed collections.
  /// - Parameter now: current time by the machine's clock.
  package mutating func drain(at now: Timestamp) -> [Part] {
    guard !recordings.isEmpty else { return [] }
    var parts: [Part] = []
    for index in recordings.indices {
      recordings[index].isOver = recordings[index].isOver || recordings[index].deadline <= now
      if let part = recordings[index].drain(Self.pieceSeconds, Self.pieceCount) { parts.append(part) }
    }
    recordings.removeAll(where: \.isOver)
    return parts
  }
}

extension RawSamples.Recording {
  fileprivate mutating func process(_ scan: InertialScan, _ utc: (Timestamp) -> UTCTime) {
    for (kind, vector) in [
      (SamplePiece.Kind.accelerometer, scan.specificForce), (.gyroscope, scan.rotationRate),
      (.magnetometer, scan.magneticField),
    ] {
      if let vector { append(kind, [vector.x, vector.y, vector.z], scan.timestamp, utc) }
    }
  }

  fileprivate mutating func append(
    _ kind: SamplePiece.Kind, _ values: [Double], _ timestamp: Timestamp, _ utc: (Timestamp) -> UTCTime
  ) {
    guard !isOver, request.kinds.contains(kind) else { return }
    let origin = origin ?? (timestamp, utc(timestamp))
    self.origin = origin
    guard timestamp.seconds(since: origin.timestamp) <= request.seconds else {
      isOver = true
      return
    }
    // All kinds of sensors use one time grid, so that simultaneous samples are published together. A sample
    // may be early by a tenth of the interval.
    let interval = 1 / request.rate
    if let due = due[kind], due.seconds(since: timestamp) > 0.1 * interval { return }
    let passed = (timestamp.seconds(since: origin.timestamp) / interval + 0.1).rounded(.down)
    due[kind] = origin.timestamp.advanced(bySeconds: (passed + 1) * interval)
    // Times are relative to the first sample, so that a change of the civil clock during the collection has
    // no effect.
    let time = origin.time.advanced(bySeconds: timestamp.seconds(since: origin.timestamp))
    if piece == nil { (piece, pieceBegan) = (SamplePiece(startingAt: time), timestamp) }
    piece?.append(kind, values, at: time)
    newest = max(newest ?? timestamp, timestamp)
  }

  fileprivate mutating func drain(_ seconds: Double, _ count: Int) -> RawSamples.Part? {
    let isWhole =
      piece.map { $0.count >= count } ?? false
      || (pieceBegan.flatMap { began in newest?.seconds(since: began) } ?? 0) >= seconds
    guard isOver || isWhole else { return nil }
    let part = RawSamples.Part(
      sender: sender, piece: piece ?? SamplePiece(startingAt: origin?.time ?? UTCTime(nanoseconds: 0)),
      kinds: SamplePiece.Kind.allCases.filter(request.kinds.contains), number: number, hasMore: !isOver)
    (piece, pieceBegan) = (nil, nil)
    number += 1
    return part
  }
}

extension SamplePiece.Kind {
  /// The sensor that delivers this kind of sample.
  package var sensor: SensorKind {
    switch self {
    case .accelerometer: .accelerometer
    case .gyroscope: .gyroscope
    case .magnetometer: .magnetometer
    case .barometer: .barometer
    }
  }
}
