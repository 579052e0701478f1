internal import DequeModule
package import Fleet
package import MQTT
internal import Platform
package import Telemetry

/// A persistent broker session for events. The broker stores events that vehicles publish while this program
/// does not run. A batch is acknowledged to the broker only after the resulting alerts were stored.
package final class EventSession: Sendable {
  private let service: AlertService
  private let subscriber: FleetSubscriber

  /// The time in s for which the broker stores the session. It applies to MQTT 5; under MQTT 3.1.1 the broker
  /// decides.
  private static let expiry: UInt32 = 86_400
  /// The maximum number of unacknowledged messages. The engine remembers as many events of each vehicle, so
  /// that all of these messages may arrive twice.
  private static let ahead = UInt16(AlertEngine.rememberedEvents)

  /// Creates the session.
  ///
  /// - Parameters:
  ///   - service: a started service; the session's name contains the epoch of its store.
  ///   - broker: the broker and the connection's settings.
  ///   - selection: the monitored vehicles.
  ///   - vehicle: returns the state of the vehicle to which a topic belongs.
  /// - Returns: nil if no rule uses events, or if the selection excludes them.
  /// - Throws: `FleetError` for invalid settings.
  package convenience init?(
    of service: AlertService, broker: MQTTConfiguration, selection: FleetSelection,
    vehicle: @escaping @Sendable (_ topic: String) -> VehicleRecord?
  ) throws(FleetError) {
    var selection = selection
    selection.kinds = service.eventKinds.filter { kind in
      selection.profile.paths(of: kind) != nil && (selection.kinds.isEmpty || selection.kinds.contains(kind))
    }
    guard !selection.kinds.isEmpty else { return nil }
    try self.init(service, broker, try selection.filters(), vehicle)
  }

  private init(
    _ service: AlertService, _ broker: MQTTConfiguration, _ filters: [String],
    _ vehicle: @escaping @Sendable (String) -> VehicleRecord?
  ) throws(FleetError) {
    self.service = service
    var session = SubscriberSession(clientID: "odograph-alerts-\(service.state.epoch)")
    session.expiry = Self.expiry
    session.receiveMaximum = Self.ahead
    session.portion = Int(Self.ahead)
    var configuration = broker
    session.apply(to: &configuration)
    let inbox = service.inbox
    subscriber = try FleetSubscriber(
      configuration, filters, .atLeastOnce,
      .init(
        received: { batch in
          let number = service.lastBatch.withLock { last in
            last += 1
            return last
          }
          // The broker's session can contain topic filters of an earlier configuration; their messages are
          // dropped here.
          let messages = batch.messages.filter { message in
            filters.contains { MQTTTopic.matches(filter: $0, topic: message.topic) }
          }
          inbox.update { $0.events.append(.init(number: number, messages: messages, at: batch.receivedAt)) }
          return .held(number)
        },
        connection: { [trouble = Locked<String?>(nil)] connection in
          let text: String?
          switch connection {
          case .refused(let filter, let reason):
            text = FleetError.refused(filter: filter, reason: reason).description
          case .disconnected(let reason):
            // The broker sends the messages that are not processed again. They get later numbers, whose
            // acknowledgement includes these.
            inbox.update { $0.events.removeAll() }
            guard reason.cause != .stopped else { return }
            text = FleetError(reason).description
          case .subscribed: text = nil
          case .connected, .doubtful, .dropped: return
          }
          let isNews = trouble.withLock { before in
            defer { before = text }
            return before != text
          }
          if isNews {
            service.report(
              text.map { "alerts: vehicle events unavailable: \($0)" }
                ?? "alerts: vehicle events available again")
          }
        }), queue: nil, retriesRefused: true)
    let subscriber = subscriber
    service.source.withLock {
      $0 = .init(vehicle: vehicle) { [weak subscriber] in subscriber?.settle(through: $0) }
    }
  }

  package func start() throws(FleetError) { try subscriber.start() }

  /// Disconnects. The broker sends events that are not acknowledged again after the next start.
  package func stop() {
    subscriber.stop(drain: 2)
  }
}

extension AlertService {
  /// The kinds of messages that contain events which rules use.
  package var eventKinds: [MessageKind] {
    let conditions = settings.rules.map(\.condition.kind)
    return (conditions.contains(.event) ? [.motion, .locationEvent, .drivingEvent] : [])
      + (conditions.contains(.trace) ? [.trace] : [])
  }
}
