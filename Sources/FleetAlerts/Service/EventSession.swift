internal import DequeModule
package import Fleet
package import MQTT
internal import Platform
package import Telemetry

/// Hears of what happens once, in a session that the broker keeps: what a vehicle tells while this program is away is told when it is
/// back, and a batch is the broker's until the service has written what follows from it.
package final class EventSession: Sendable {
  private let service: AlertService
  private let subscriber: FleetSubscriber

  /// Seconds for which the broker keeps it (MQTT 5; under 3.1.1 it keeps it for ever, with as much as it is set up to).
  private static let expiry: UInt32 = 86_400
  /// Messages that come ahead of being written. As many events of a vehicle are remembered, so that all of them may come twice.
  private static let ahead = UInt16(AlertEngine.rememberedEvents)

  /// - Parameters:
  ///   - service: started, so that its file is open: the session is named after it.
  ///   - selection: vehicles that are watched.
  ///   - vehicle: what is known of the vehicle of a topic.
  /// - Returns: nil where no rule asks for events that such vehicles tell.
  /// - Throws: `FleetError` where the settings cannot work.
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
          // The session may be of an earlier selection.
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
            // The broker sends again what waits here; the number of what comes later settles it.
            inbox.update { $0.events.removeAll() }
            guard reason.cause != .stopped else { return }
            text = FleetError(reason).description
          case .subscribed: text = nil
          case .connected, .doubtful: return
          }
          let isNews = trouble.withLock { before in
            defer { before = text }
            return before != text
          }
          if isNews { service.say("alerts: what happens: \(text ?? "heard again")") }
        }), queue: nil)
    let subscriber = subscriber
    service.source.withLock {
      $0 = .init(vehicle: vehicle) { [weak subscriber] in subscriber?.settle(through: $0) }
    }
  }

  package func start() throws(FleetError) { try subscriber.start() }

  /// Leaves; what is not written stays at the broker.
  package func stop() {
    subscriber.stop(drain: 2)
  }
}

extension AlertService {
  /// What rules ask for of that which happens once.
  package var eventKinds: [MessageKind] {
    let conditions = settings.rules.map(\.condition.kind)
    return (conditions.contains(.event) ? [.motion, .locationEvent, .drivingEvent] : [])
      + (conditions.contains(.trace) ? [.trace] : [])
  }
}
