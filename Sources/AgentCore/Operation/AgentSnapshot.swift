internal import MQTT
internal import Pipeline
internal import Platform
internal import Sensors
internal import Spatial
internal import Telemetry

/// How the agent stands at one moment, as its pipeline sees it.
struct AgentSnapshot: Sendable {
  /// `SystemClock.monotonic`.
  var taken: Int64
  var vehicle: String
  /// Whose settings are in force where nothing else is said; a remote setting does not change it.
  var preset: String
  /// The message that would be told now: sources, counters, energy, and what the computer knows of itself.
  var status: StatusMessage
  /// By kind, what has come of it.
  var activity: [SensorKind: SensorActivity.Kind]
  var motion: MotionReport
  /// The newest position that may be told.
  var location: LocationMessage?
  /// Seconds since that position was measured.
  var locationAge: Double?
  /// The newest of what the vehicle's bus told; nil where it is not read.
  var signals: VehicleSignals?
  /// Nil where messages do not go to a broker.
  var link: LinkReport?
}

/// What became of the connection to the broker.
struct LinkReport: Sendable {
  var broker: String
  var isConnected: Bool
  /// `SystemClock.monotonic`, when that began; nil before the first attempt has ended.
  var since: Int64?
  /// Why there is none.
  var problem: String?
  /// Seconds.
  var keepAlive: Int
  /// Whether the link is closed between bursts.
  var isInBursts: Bool
}

extension LinkReport {
  init(_ settings: AgentConfiguration.MQTT) {
    self.init(
      broker: settings.client.brokers.first.map { "\($0.host):\($0.port)" } ?? "", isConnected: false,
      keepAlive: settings.client.keepAlive, isInBursts: false)
  }

  mutating func observe(_ state: MQTTConnectionState, at now: Int64) {
    switch state {
    case .connected(let properties):
      (broker, isConnected, since, problem) = (properties.broker.description, true, now, nil)
    case .disconnected(let why, _):
      if isConnected || since == nil { since = now }
      (isConnected, broker) = (false, why.broker.description)
      problem = why.cause == .asleep ? nil : why.description
    }
  }
}

/// The newest snapshot of the agent, for threads other than the pipeline's.
///
/// Whoever asks never waits for the pipeline: it is shown what was published last, and how old that is. Nothing is put
/// together while nobody asks.
final class SnapshotBoard: Sendable {
  /// Signalled with each snapshot that is published.
  let fresh: EventDescriptor
  private let newest = Locked<AgentSnapshot?>(nil)
  private let inbox: AgentInbox

  /// - Parameter inbox: the pipeline's.
  /// - Throws: `SystemError` when the process has no descriptor left.
  init(inbox: AgentInbox) throws(SystemError) {
    fresh = try EventDescriptor()
    self.inbox = inbox
  }

  /// Asks the pipeline for a snapshot.
  func request() { inbox.push(.snapshotRequest) }

  /// The pipeline's to call.
  func publish(_ snapshot: AgentSnapshot) {
    newest.withLock { $0 = snapshot }
    fresh.signal()
  }

  var latest: AgentSnapshot? { newest.withLock { $0 } }
}
