internal import DequeModule
package import Fleet
internal import JSON
package import MQTT
internal import Platform
internal import SQLite
internal import Spatial
internal import Telemetry

/// A service that evaluates rules for vehicles and notifies receivers.
///
/// Its thread decides and stores; each receiver has threads that only send. A message is stored before it is
/// sent, in one transaction with its cause, and removed after it was accepted. It can arrive twice, with the
/// same key, but is never lost.
package final class AlertService: FleetObserver {
  struct Inbox: Sendable {
    var reports = ReportQueue()
    /// Batches of events that the broker stores until they are written here, with the number to settle.
    var events = Deque<EventBatch>()
    var results: [ReceiverThreads.Result] = []
    var silences: [Silence] = []
    /// The numbers of alerts that the operator ended.
    var ends: [Int64] = []
    /// New settings; nil if unchanged.
    var settings: AlertSettings?
    /// The state of the connection; nil if unchanged.
    var isConnected: Bool?
    var isStopping = false
    /// True while the store is not writable; input then waits.
    var isStuck = false

    /// True if there is nothing to do.
    var isEmpty: Bool {
      (isStuck || reports.isEmpty && events.isEmpty) && results.isEmpty && silences.isEmpty
        && ends.isEmpty && settings == nil && isConnected == nil && !isStopping
    }
  }

  /// Messages that arrived together in the broker's session.
  struct EventBatch: Sendable {
    var number: UInt64
    var messages: [MQTTMessage]
    var at: Moment
  }

  /// The session of events, with access to the vehicles' states.
  struct EventSource: Sendable {
    var vehicle: @Sendable (_ topic: String) -> VehicleRecord?
    /// Settles batches up to this number after they were written.
    var settle: @Sendable (UInt64) -> Void
  }

  /// The settings in use and the kinds of messages that they need.
  private struct Asked: Sendable {
    var settings: AlertSettings
    var topics: Set<VehicleFacts.Topic>

    init(_ settings: AlertSettings) {
      self.settings = settings
      topics = settings.rules.reduce(into: []) { $0.formUnion($1.topics) }
    }
  }

  private let asked: Locked<Asked>
  private let profile: MessageProfile
  private let root: String
  let inbox = Monitor(Inbox())
  let view = Locked(AlertsView())
  let source = Locked<EventSource?>(nil)
  /// The number of the last batch of any session; numbers of different sessions are unrelated.
  let lastBatch = Locked<UInt64>(0)
  let report: @Sendable (String) -> Void
  private let thread = Locked<DedicatedThread?>(nil)

  /// Creates a service.
  ///
  /// - Parameters:
  ///   - root: the topic root; nil for that of the profile.
  ///   - report: logs a sentence for the operator.
  package init(
    _ settings: AlertSettings, profile: MessageProfile = .native, root: String? = nil,
    report: @escaping @Sendable (String) -> Void
  ) {
    (self.profile, self.report) = (profile, report)
    self.root = root ?? profile.usualRoot
    asked = Locked(Asked(settings))
  }

  /// The current settings.
  package var settings: AlertSettings { asked.withLock { $0.settings } }

  /// Reloads rules and receivers. The states of conditions that are still monitored are retained; alerts
  /// without a rule end, and their end is reported. The store is unchanged.
  package func reload(_ settings: AlertSettings) {
    var settings = settings
    settings.store = self.settings.store
    asked.withLock { $0 = Asked(settings) }
    inbox.update { $0.settings = settings }
  }

  /// Opens the store, restores its state, and starts to send.
  /// - Throws: `FleetError` if the store cannot be used.
  package func start() throws(FleetError) {
    let worker = try AlertWorker(self)
    // Only the thread that is started here uses it.
    let box = Locked<AlertWorker?>(worker)
    do throws(SystemError) {
      let started = try DedicatedThread.start(name: "alerts", stackSize: 1 << 20) {
        let worker = box.withLock { worker in
          defer { worker = nil }
          return worker
        }
        worker?.run()
      }
      thread.withLock { $0 = started }
    } catch {
      throw FleetError(error)
    }
  }

  /// Stops in order: stores all reports, waits three seconds for transfers in progress, and leaves the rest
  /// for the next start.
  package func stop() {
    inbox.update { $0.isStopping = true }
    let started = thread.withLock { thread in
      defer { thread = nil }
      return thread
    }
    started?.join()
  }

  package func observe(_ message: MQTTMessage, of vehicle: VehicleRecord, at moment: Moment) {
    guard let facts = facts(message, at: moment, { vehicle }) else { return }
    // Events arrive in a separate session that the broker stores.
    guard source.withLock({ $0 }) == nil || !facts.topic.isOfEvents else { return observePlace(facts) }
    observe(facts)
  }

  package func observe(removalOf key: VehicleKey, at moment: Moment) {
    observe(VehicleFacts(key: key, topic: .removal, at: moment, state: .unknown))
  }

  /// Observes the accuracy in a location event, which must not wait for the other session.
  private func observePlace(_ facts: VehicleFacts) {
    guard facts.accuracy != nil else { return }
    var facts = facts
    facts.event = nil
    observe(facts)
  }

  /// Returns the facts of a message; nil if no rule uses it.
  func facts(_ message: MQTTMessage, at moment: Moment, _ vehicle: () -> VehicleRecord?) -> VehicleFacts? {
    guard let address = profile.address(of: message.topic, root: root), asks(for: address.path),
      let json = try? JSONValue(parsing: message.payload),
      case .message(let decoded)? = try? profile.read(address, json),
      let facts = VehicleFacts(
        decoded, isRetained: message.retain, of: vehicle() ?? VehicleRecord(key: address.key), at: moment),
      asked.withLock({ $0.topics.contains(facts.topic) })
    else { return nil }
    return facts
  }

  /// Returns whether a rule can use messages of a topic, before the payload is read.
  private func asks(for path: String) -> Bool {
    let topics = asked.withLock { $0.topics }
    guard !topics.isEmpty, profile == .native, let kind = MessageKind(rawValue: path) else {
      return !topics.isEmpty
    }
    switch kind {
    case .status: return topics.contains(.status)
    case .location: return topics.contains(.position)
    case .region: return topics.contains(.regions)
    case .motion, .locationEvent, .drivingEvent: return topics.contains(.event)
    case .trace: return topics.contains(.trace)
    default: return false
    }
  }

  /// Adds a report, and returns immediately: it is called on the connection's thread.
  package func observe(_ facts: VehicleFacts) { inbox.update { $0.reports.add(facts) } }

  /// Observes the connection. Without one, timers are stopped, because the state of conditions is unknown.
  package func observe(_ connection: FleetConnection) {
    switch connection {
    // The granted filters deliver, even if another was rejected.
    case .subscribed, .refused: inbox.update { $0.isConnected = true }
    case .disconnected: inbox.update { $0.isConnected = false }
    case .connected, .doubtful, .dropped: break
    }
  }

  /// Silences alerts for a time.
  package func silence(_ silence: Silence) { inbox.update { $0.silences.append(silence) } }

  /// Ends an alert on behalf of the operator, and reports its end.
  package func end(_ number: Int64) { inbox.update { $0.ends.append(number) } }

  /// The current state.
  package var state: AlertsView { view.withLock { $0 } }

  /// A number that increases with each change of `state`.
  package var revision: UInt64 { view.withLock { $0.revision } }

  /// The metrics for `/metrics`.
  package var metrics: String { state.metrics }
}
