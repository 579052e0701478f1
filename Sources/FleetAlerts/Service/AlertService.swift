internal import DequeModule
package import Fleet
internal import JSON
internal import MQTT
package import Platform
internal import SQLite
internal import Spatial
internal import Telemetry

/// A service that evaluates rules for vehicles, and notifies receivers.
///
/// One thread decides and stores; each receiver has threads of its own that only send. A message is stored in
/// the same transaction as the alert that causes it, before it is sent, and removed after the receiver has
/// accepted it. It can therefore arrive twice, with the same key, but is never lost.
package final class AlertService: FleetObserver {
  package struct Inbox: Sendable {
    package var reports = ReportQueue()
    /// Batches of events that are not processed yet. The broker stores their messages until the resulting
    /// alerts are stored here.
    var events = Deque<EventBatch>()
    var results: [ReceiverThreads.Result] = []
    var silences: [Silence] = []
    /// The numbers of alerts that an operator has ended.
    var ends: [Int64] = []
    /// New settings; nil if unchanged.
    var settings: AlertSettings?
    /// True if the broker is connected; nil if this has not changed.
    var isConnected: Bool?
    var isStopping = false
    /// True while the store is not writable; reports and events must then wait.
    var isStuck = false

    /// True if nothing can be processed.
    var isEmpty: Bool {
      (isStuck || reports.isEmpty && events.isEmpty) && results.isEmpty && silences.isEmpty
        && ends.isEmpty && settings == nil && isConnected == nil && !isStopping
    }
  }

  /// Messages that arrived together in the broker session for events.
  struct EventBatch: Sendable {
    var number: UInt64
    var messages: [MQTTMessage]
    var at: Moment
  }

  /// The broker session for events, with access to the states of vehicles.
  struct EventSource: Sendable {
    var vehicle: @Sendable (_ topic: String) -> VehicleRecord?
    /// Acknowledges all batches up to a number to the broker, after their alerts were stored.
    var settle: @Sendable (UInt64) -> Void
  }

  /// The current settings, and the topics of messages that their rules use.
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
  package let inbox = Monitor(Inbox())
  let view = Locked(AlertsView())
  let source = Locked<EventSource?>(nil)
  /// The number of the last batch that arrived. Numbers continue across sessions.
  let lastBatch = Locked<UInt64>(0)
  let report: @Sendable (String) -> Void
  private let thread = Locked<DedicatedThread?>(nil)

  /// Creates a service.
  ///
  /// - Parameters:
  ///   - settings: the alert settings.
  ///   - profile: the wire format of the vehicles.
  ///   - root: the topic root; nil for the default of the profile.
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

  /// Replaces rules and receivers. Conditions that are still monitored keep their states. Alerts without a
  /// rule end, and their end is reported. The path of the store cannot be changed.
  package func reload(_ settings: AlertSettings) {
    var settings = settings
    settings.store = self.settings.store
    asked.withLock { $0 = Asked(settings) }
    inbox.update { $0.settings = settings }
  }

  /// Opens the store, restores its state, and starts the thread.
  /// - Throws: `FleetError` if the store cannot be used.
  package func start() throws(FleetError) {
    let worker = try AlertWorker(self)
    // The worker is passed to the started thread, and only used there.
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

  /// Stores all reports, waits up to three seconds for transfers in progress, and stops. Unsent messages are
  /// sent after the next start.
  package func stop() {
    inbox.update { $0.isStopping = true }
    let started = thread.withLock { thread in
      defer { thread = nil }
      return thread
    }
    started?.join()
  }

  package func observe(
    _ message: FleetMessage, isRetained: Bool, of vehicle: VehicleRecord, at moment: Moment
  ) {
    let topics = asked.withLock { $0.topics }
    guard !topics.isEmpty, case .message(let decoded) = message,
      let facts = VehicleFacts(decoded, isRetained: isRetained, of: vehicle, at: moment)
    else { return }
    if facts.topic.isOfEvents, topics.contains(.contact) { observe(facts.contact) }
    guard Self.uses(facts, topics) else { return }
    // Events are ignored here, because they also arrive in a separate session, which the broker stores.
    guard source.withLock({ $0 }) == nil || !facts.topic.isOfEvents else { return observePlace(facts) }
    observe(facts)
  }

  package func observe(removalOf key: VehicleKey, at moment: Moment) {
    observe(VehicleFacts(key: key, topic: .removal, at: moment, state: .unknown))
  }

  /// Processes the accuracy in a location event without the delay of the session for events.
  private func observePlace(_ facts: VehicleFacts) {
    guard facts.accuracy != nil else { return }
    var facts = facts
    facts.event = nil
    observe(facts)
  }

  /// Returns whether a rule that uses messages of these topics uses the facts.
  private static func uses(_ facts: VehicleFacts, _ topics: Set<VehicleFacts.Topic>) -> Bool {
    // Any rule uses the retained position, if the vehicle's status arrived before it.
    topics.contains(facts.topic) || facts.topic == .position && facts.isRetained
  }

  /// Returns the facts of a message; nil if no rule uses the message.
  /// - Parameter vehicle: returns the state of the message's vehicle.
  func facts(_ message: MQTTMessage, at moment: Moment, _ vehicle: () -> VehicleRecord?) -> VehicleFacts? {
    guard let address = profile.address(of: message.topic, root: root),
      let json = try? JSONValue(parsing: message.payload),
      case .message(let decoded)? = try? profile.read(address, json),
      let facts = VehicleFacts(
        decoded, isRetained: message.retain, of: vehicle() ?? VehicleRecord(key: address.key), at: moment),
      Self.uses(facts, asked.withLock({ $0.topics }))
    else { return nil }
    return facts
  }

  /// Adds facts to the queue of the alerts' thread. Returns immediately, because it is called on the
  /// connection's thread.
  package func observe(_ facts: VehicleFacts) { inbox.update { $0.reports.add(facts) } }

  /// Observes the connection. While it is lost, no alert starts or ends by time, because the state of
  /// conditions is unknown.
  package func observe(_ connection: FleetConnection) {
    switch connection {
    // If one filter was rejected, messages of the granted filters still arrive.
    case .subscribed, .refused: inbox.update { $0.isConnected = true }
    case .disconnected: inbox.update { $0.isConnected = false }
    case .connected, .doubtful, .dropped: break
    }
  }

  /// Adds a silence.
  package func silence(_ silence: Silence) { inbox.update { $0.silences.append(silence) } }

  /// Ends an alert on request of an operator, and reports its end.
  package func end(_ number: Int64) { inbox.update { $0.ends.append(number) } }

  /// The current alerts and counters.
  package var state: AlertsView { view.withLock { $0 } }

  /// A number that increases with each change of `state`.
  package var revision: UInt64 { view.withLock { $0.revision } }

  /// The metrics for `/metrics`.
  package var metrics: String { state.metrics }
}
