package import MQTT
package import Pipeline
package import Platform
package import Sensors
internal import Spatial
package import Telemetry

/// State of the agent at one moment, as seen by the pipeline.
package struct AgentSnapshot: Sendable {
  /// Time of the snapshot.
  package var taken: MonotonicTime
  package var vehicle: String
  /// The configured preset. A remote setting does not change it.
  package var preset: String
  /// The current status message: sources, counters, energy, and health of the computer.
  package var status: StatusMessage
  /// Received samples by kind of sensor.
  package var activity: [SensorKind: SensorActivity.Kind]
  package var motion: MotionReport
  /// The newest position that may be published.
  package var location: LocationMessage?
  /// Age of `location` in s; nil without a position.
  var locationAge: Double?
  /// The newest signals of the CAN bus; nil if it is not read.
  package var signals: VehicleSignals?
  /// State of the broker connection; nil for other destinations.
  package var link: LinkReport?
  /// Services for programs on this machine.
  package var local: [LocalServer.Report] = []
  /// Time in s for which programs on this machine have required the receiver to be on.
  package var localReceiverSeconds = 0.0
  /// Orientation and compass for programs on this machine; nil if it is off.
  package var sensorProxy: SensorProxyHost.Report?
}

/// State of the connection to the broker.
package struct LinkReport: Sendable {
  package var broker: String
  package var isConnected: Bool
  /// Start of this state; nil before the first attempt has ended.
  package var since: MonotonicTime?
  /// The reason why there is no connection; nil while connected, and between bursts.
  package var problem: String?
  /// Keep-alive time in s.
  package var keepAlive: Int
  /// True if the link is closed between bursts.
  package var isInBursts: Bool
}

extension LinkReport {
  package init(_ settings: AgentConfiguration.MQTT) {
    self.init(
      broker: settings.client.brokers.first.map { "\($0.host):\($0.port)" } ?? "", isConnected: false,
      keepAlive: settings.client.keepAlive, isInBursts: false)
  }

  package mutating func observe(_ state: MQTTConnectionState, at now: MonotonicTime) {
    switch state {
    case .connected(let properties):
      (broker, isConnected, since, problem) = (properties.broker.description, true, now, nil)
    case .disconnected(let why, _):
      if isConnected || since == nil { since = now }
      (isConnected, broker) = (false, why.broker.description)
      problem = why.isTemporary ? nil : why.description
    }
  }
}

/// The newest snapshot of the agent, for threads other than the pipeline's.
///
/// Readers never wait for the pipeline: they receive the last published snapshot with its age. Without
/// readers no snapshots are created.
final class SnapshotBoard: Sendable {
  /// Signalled with each published snapshot.
  let fresh: EventDescriptor
  private let newest = Locked<AgentSnapshot?>(nil)
  private let inbox: AgentInbox

  /// - Parameter inbox: the pipeline's inbox.
  /// - Throws: `SystemError` if no descriptor is available.
  init(inbox: AgentInbox) throws(SystemError) {
    fresh = try EventDescriptor()
    self.inbox = inbox
  }

  /// Requests a snapshot from the pipeline.
  func request() { inbox.push(.snapshotRequest) }

  /// Publishes a snapshot. Called by the pipeline.
  func publish(_ snapshot: AgentSnapshot) {
    newest.withLock { $0 = snapshot }
    fresh.signal()
  }

  var latest: AgentSnapshot? { newest.withLock { $0 } }
}
