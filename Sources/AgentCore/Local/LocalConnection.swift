package import LocalProtocols
package import Pipeline
package import Sensors
internal import Spatial

/// The state of one connected program: its protocol, its access, and the output that it has not read yet.
///
/// The output is bounded. A program that does not read loses whole reports and answers, never parts of them. After
/// too many lost reports it is disconnected. No operation waits.
package struct LocalConnection {
  package enum Dialect {
    case nmea
    case gpsd(GPSDSession)
  }

  /// The reason for which the server closes a connection.
  package enum End: String {
    /// The program has read nothing while too many reports were dropped.
    case blocked
    /// The program has sent more than `inputLimit` bytes between two reports.
    case flood
    /// The program has closed the connection.
    case closed
  }

  package let access: LocalAccess
  private var dialect: Dialect
  /// Bytes to send; those before `sent` have been sent.
  private var output: [UInt8] = []
  private var sent = 0
  private var lastReport: Timestamp?
  /// True if the last report had a position.
  private var hasPosition = false
  private let serviceInterval: Double
  private let serviceUsesAttitude: Bool
  /// Bytes received since the last report.
  private var received = 0
  /// Number of dropped reports and answers, in total and since the program has last read.
  package private(set) var dropped = 0
  private var droppedInRow = 0
  /// The reason to close the connection; nil while it is to remain open.
  package private(set) var end: End?

  /// Maximum size of the waiting output in bytes, without samples.
  static let outputLimit = 32_768
  /// Maximum size of the waiting samples in bytes, and the size of a sample with nine values.
  private static let (samplesLimit, sampleSize) = (2_097_152, 160.0)
  /// Number of reports dropped in a row after which the program is disconnected.
  package static let dropLimit = 60
  /// Maximum number of bytes that a program may send between two reports.
  static let inputLimit = 65_536

  /// - Parameters:
  ///   - dialect: protocol with its state.
  ///   - interval: interval in s between the service's reports.
  ///   - usesAttitude: true if the service's reports contain the attitude.
  package init(_ dialect: Dialect, access: LocalAccess, interval: Double, usesAttitude: Bool) {
    (self.dialect, self.access) = (dialect, access)
    (serviceInterval, serviceUsesAttitude) = (interval, usesAttitude)
    if case .gpsd(var session) = dialect {
      enqueue(session.greet())
      self.dialect = .gpsd(session)
    }
  }

  /// True if the program requests reports.
  var isWatching: Bool {
    switch dialect {
    case .nmea: true
    case .gpsd(let session): session.isWatching
    }
  }

  /// True if the program requests positions that its access permits.
  var isDemanding: Bool { isWatching && access.accuracy != .none }

  /// The requirements that the program has stated; nil for those of the service.
  private var needs: LocalNeeds? { if case .gpsd(let session) = dialect { session.needs } else { nil } }

  /// The samples that a Swift client requests and its access permits.
  package var samples: [SensorKind: SensorDemand] {
    if case .gpsd(let session) = dialect { session.samples } else { [:] }
  }

  /// Maximum size of the waiting output in bytes: with room for two blocks of the requested samples, since a block is queued as a
  /// whole.
  package var limit: Int {
    let block = samples.values.reduce(0.0) { bytes, demand in
      guard case .rate(let hertz, let latency) = demand else { return bytes }
      return bytes + Self.sampleSize * max(1, hertz) * (1 + latency / .seconds(1))
    }
    return Self.outputLimit + Int(min(Double(Self.samplesLimit), 2 * block))
  }

  /// Interval in s between reports.
  package var interval: Double { needs?.interval ?? serviceInterval }

  /// True if the program receives the attitude.
  var usesAttitude: Bool { access.accuracy == .exact && (needs?.attitude ?? serviceUsesAttitude) }

  /// True if the program still has to be notified that its access permits no position. It then receives no
  /// further reports.
  var isUninformed: Bool { isWatching && access.accuracy == .none && lastReport == nil }

  /// Ends the connection; the first reason remains.
  package mutating func close(_ reason: End) { end = end ?? reason }

  /// The next bytes to send; empty if there are none.
  var waiting: ArraySlice<UInt8> { output[sent...] }

  /// Records that the program has accepted bytes.
  mutating func consume(_ count: Int) {
    sent += count
    droppedInRow = 0
    guard sent == output.count else { return }
    output.removeAll(keepingCapacity: true)
    sent = 0
  }

  /// Processes bytes from the program, and queues the answers.
  package mutating func receive(_ bytes: ArraySlice<UInt8>) {
    received += bytes.count
    if received > Self.inputLimit { close(.flood) }
    guard end == nil, case .gpsd(var session) = dialect else { return }
    let answer = session.receive(bytes)
    dialect = .gpsd(session)
    if !answer.isEmpty { enqueue(answer) }
  }

  /// Queues a report if one is due.
  /// - Parameter sentences: the report in NMEA 0183.
  mutating func send(_ report: LocalReport, at timestamp: Timestamp, sentences: () -> [UInt8]) {
    // The end of a position is reported immediately.
    guard isWatching, isDue(at: timestamp) || (hasPosition && report.location == nil) else { return }
    (lastReport, hasPosition) = (timestamp, report.location != nil)
    received = 0
    switch dialect {
    case .nmea: enqueue(sentences())
    case .gpsd(var session):
      let bytes = session.send(report)
      dialect = .gpsd(session)
      if !bytes.isEmpty { enqueue(bytes) }
    }
  }

  /// Queues lines with samples of sensors, if the program requests them.
  mutating func send(samples lines: [[UInt8]], of kinds: Set<SensorKind>) {
    guard !kinds.isDisjoint(with: samples.keys) else { return }
    received = 0
    for line in lines { enqueue(line) }
  }

  /// Sets the data that the agent provides, and notifies a Swift client of a change.
  mutating func update(_ sources: LocalSources) {
    guard case .gpsd(var session) = dialect else { return }
    let access: PositionAccess =
      switch self.access.accuracy {
      case .exact: .exact
      case .reduced: .reduced
      case .none: .denied
      }
    let bytes = session.update(
      AgentOffer(access: access, isLocationEnabled: sources.isLocationEnabled, sensors: sources.sensors))
    dialect = .gpsd(session)
    // A lost offer would never be repeated, so the limit is higher for it, and exceeding it ends the connection.
    if waiting.count + bytes.count > limit + Self.outputLimit { close(.blocked) } else { output += bytes }
  }

  /// A tenth of the interval is tolerated, because positions do not arrive at exact intervals.
  private func isDue(at timestamp: Timestamp) -> Bool {
    guard let lastReport else { return true }
    let elapsed = timestamp.seconds(since: lastReport)
    return elapsed < 0 || elapsed >= 0.9 * interval
  }

  private mutating func enqueue(_ bytes: [UInt8]) {
    guard output.count - sent + bytes.count <= limit else {
      dropped += 1
      droppedInRow += 1
      if droppedInRow >= Self.dropLimit { close(.blocked) }
      return
    }
    if sent > 0 {
      output.removeSubrange(..<sent)
      sent = 0
    }
    output += bytes
  }
}
