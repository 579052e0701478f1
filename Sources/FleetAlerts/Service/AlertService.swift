internal import DequeModule
package import Fleet
internal import JSON
package import MQTT
internal import Platform
internal import SQLite
internal import Spatial
internal import Telemetry

/// Watches vehicles by rules, and tells receivers.
///
/// One thread of its own decides and writes; each receiver has threads that only send. What is sent was written before, in one
/// transaction with what led to it, and is removed after it was taken: a message may come twice, with the same key, and none is lost.
package final class AlertService: FleetObserver {
  struct Inbox: Sendable {
    var facts = Deque<VehicleFacts>()
    /// What the broker keeps until it is written, with the number that it is told by.
    var events = Deque<EventBatch>()
    var results: [ReceiverThreads.Result] = []
    var silences: [Silence] = []
    /// Numbers of alerts that somebody has ended.
    var ends: [Int64] = []
    /// What is to hold from now on; nil for what holds.
    var settings: AlertSettings?
    /// Whether the broker is heard; nil where nobody has said so.
    var isConnected: Bool?
    var dropped = 0
    var isStopping = false
    /// Whether nothing can be written now: what comes then is left until it can be.
    var isStuck = false

    /// Whether there is something to do.
    var isEmpty: Bool {
      (isStuck || facts.isEmpty && events.isEmpty) && results.isEmpty && silences.isEmpty
        && ends.isEmpty && settings == nil && isConnected == nil && !isStopping
    }
  }

  /// Messages that came together in a session of the broker's.
  struct EventBatch: Sendable {
    var number: UInt64
    var messages: [MQTTMessage]
    var at: Moment
  }

  /// The session in which events come, and what is known of their vehicles.
  struct EventSource: Sendable {
    var vehicle: @Sendable (_ topic: String) -> VehicleRecord?
    /// Batches up to this number are written.
    var settle: @Sendable (UInt64) -> Void
  }

  /// Messages of vehicles that wait for the thread.
  static let inboxLimit = 20_000
  /// That a vehicle was retired, no later message says again.
  private static let removalLimit = 120_000

  /// What is asked for now.
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
  /// The number of the newest batch of any session: what an earlier session's number says of a later one's is nothing.
  let lastBatch = Locked<UInt64>(0)
  let say: @Sendable (String) -> Void
  private let thread = Locked<DedicatedThread?>(nil)

  /// - Parameters:
  ///   - root: of topics; nil for the profile's usual one.
  ///   - say: takes a sentence for whoever operates this.
  package init(
    _ settings: AlertSettings, profile: MessageProfile = .native, root: String? = nil,
    say: @escaping @Sendable (String) -> Void
  ) {
    (self.profile, self.say) = (profile, say)
    self.root = root ?? profile.usualRoot
    asked = Locked(Asked(settings))
  }

  /// As the configuration has it now.
  package var settings: AlertSettings { asked.withLock { $0.settings } }

  /// Goes on by other rules and receivers: what is known of conditions that are still asked for stays, and what no rule asks for any more
  /// ends, which is told. The store stays what it is.
  package func reload(_ settings: AlertSettings) {
    var settings = settings
    settings.store = self.settings.store
    asked.withLock { $0 = Asked(settings) }
    inbox.update { $0.settings = settings }
  }

  /// Opens the file, takes up what was there, and starts to tell it.
  /// - Throws: `FleetError` for a file that cannot be used.
  package func start() throws(FleetError) {
    let worker = try AlertWorker(self)
    // Only the thread that is started here has it.
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

  /// Ends in order: what was observed is written, what is under way has three seconds, and the rest is told after the next start.
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
    // Those come in a session of their own, which the broker keeps.
    guard source.withLock({ $0 }) == nil || !facts.topic.isOfEvents else { return observePlace(facts) }
    observe(facts)
  }

  package func observe(removalOf key: VehicleKey, at moment: Moment) {
    observe(VehicleFacts(key: key, topic: .removal, at: moment, state: .unknown))
  }

  /// An event of the location says also how good the position is, which is not to wait for the other session.
  private func observePlace(_ facts: VehicleFacts) {
    guard facts.accuracy != nil else { return }
    var facts = facts
    facts.event = nil
    observe(facts)
  }

  /// What a message tells of what rules ask for; nil for any other.
  func facts(_ message: MQTTMessage, at moment: Moment, _ vehicle: () -> VehicleRecord?) -> VehicleFacts? {
    guard let address = profile.address(of: message.topic, root: root), asks(for: address.path),
      let json = try? JSONValue(parsing: message.payload),
      case .message(let said)? = try? profile.read(address, json),
      let facts = VehicleFacts(
        said, isRetained: message.retain, of: vehicle() ?? VehicleRecord(key: address.key), at: moment),
      asked.withLock({ $0.topics.contains(facts.topic) })
    else { return nil }
    return facts
  }

  /// Whether a rule asks for what comes on such a topic, as far as that shows before it is read.
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

  /// Waits for a while where the thread is behind, which holds up the broker; after that it is counted and left out.
  package func observe(_ facts: VehicleFacts) {
    let deadline = SystemClock.monotonic + 5_000_000_000
    let wasTaken: Bool? = inbox.wait(until: deadline) { inbox in
      let limit = facts.topic == .removal ? Self.removalLimit : Self.inboxLimit
      guard inbox.facts.count >= limit else { return !inbox.isStopping }
      // A disk that is full for hours is not to hold up what shows the fleet.
      return inbox.isStopping || inbox.isStuck ? false : nil
    }
    inbox.update { inbox in
      if wasTaken == true { inbox.facts.append(facts) } else { inbox.dropped += 1 }
    }
  }

  /// Tells of the connection: while there is none, no timer runs out, because nobody knows what has happened.
  package func observe(_ connection: FleetConnection) {
    switch connection {
    // What is granted beside a refused filter is heard.
    case .subscribed, .refused: inbox.update { $0.isConnected = true }
    case .disconnected: inbox.update { $0.isConnected = false }
    case .connected, .doubtful: break
    }
  }

  /// Tells nobody of some alerts for a time.
  package func silence(_ silence: Silence) { inbox.update { $0.silences.append(silence) } }

  /// Ends an alert that nobody waits for any more, which is told.
  package func end(_ number: Int64) { inbox.update { $0.ends.append(number) } }

  /// How it stands now.
  package var state: AlertsView { view.withLock { $0 } }

  /// Rises with each change of what `state` says.
  package var revision: UInt64 { view.withLock { $0.revision } }

  /// For `/metrics`.
  package var metrics: String { state.metrics }
}
