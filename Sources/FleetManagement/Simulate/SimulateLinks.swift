package import Fleet
package import MQTT
internal import Platform
internal import Telemetry

/// The connections of a simulated fleet. Vehicle n uses connection n modulo the number of connections.
package struct SimulateLinks: Sendable {
  private let links: [PublishLink]
  /// The ledger of unacknowledged sequence numbers; nil if it was not requested.
  private let ledger: SimulateLedger?
  private let connections: Locked<Connections>

  /// The indices of connections (links) by their history.
  private struct Connections: Sendable {
    /// The links that were connected at least once.
    var known: Set<Int> = []
    /// The links that reconnected since the last query.
    var renewed: Set<Int> = []

    mutating func connected(_ number: Int) {
      if !known.insert(number).inserted { renewed.insert(number) }
    }
  }

  /// Creates the connections.
  ///
  /// - Parameters:
  ///   - ledger: receives the acknowledgements; nil if it was not requested.
  ///   - connection: called with each change of a connection. Only the first connection reports that it is
  ///     connected: otherwise the connection of a second one would be reported as a reconnection.
  package init(
    _ broker: MQTTConfiguration, fleet: SimulatedFleet, ledger: SimulateLedger?,
    connection: @escaping @Sendable (FleetConnection) -> Void
  ) throws(FleetError) {
    let settings = fleet.configuration
    self.ledger = ledger
    let connections = Locked(Connections())
    self.connections = connections
    // Each queue has space for ten seconds of reports, and for the messages at sign-on and sign-off.
    let load = settings.rate + 2 * settings.liveRate
    let perLink = Double(fleet.vehicles.count) / Double(settings.connections)
    let capacity = Int(perLink * (10 * load + 6)) + 1000
    var links: [PublishLink] = []
    for number in 0..<settings.connections {
      var configuration = broker
      configuration.clientID += "-\(number)"
      configuration.will = fleet.vehicles[number].will
      links.append(
        try PublishLink(
          configuration, capacity: capacity,
          settled: { token, refusal in
            if refusal == nil { ledger?.acknowledge(token, of: number) }
          }
        ) { change in
          if change == .connected { connections.withLock { $0.connected(number) } }
          if change != .connected || number == 0 { connection(change) }
        })
    }
    self.links = links
  }

  package func start() throws(FleetError) {
    for link in links {
      do throws(FleetError) { try link.start() } catch {
        throw FleetError(
          operation: error.operation, object: error.object,
          cause: error.cause + "; use fewer --connections", kind: .unavailable)
      }
    }
  }

  package func send(_ outputs: [SimulatedFleet.Output]) {
    guard !outputs.isEmpty else { return }
    if let ledger {
      for output in outputs {
        let link = output.vehicle % links.count
        ledger.append(output, to: links[link].queue, of: link)
      }
      for link in links { link.send([]) }
      return
    }
    if links.count == 1 { return links[0].send(outputs.lazy.map(\.message)) }
    var parts = [[MQTTMessage]](repeating: [], count: links.count)
    for output in outputs { parts[output.vehicle % links.count].append(output.message) }
    for (link, part) in zip(links, parts) where !part.isEmpty { link.send(part) }
  }

  /// Returns a function that selects the vehicles whose link has reconnected since the last call; nil if no
  /// link has.
  package func takeRenewed() -> ((_ vehicle: Int) -> Bool)? {
    let renewed = connections.withLock { connections in
      defer { connections.renewed = [] }
      return connections.renewed
    }
    guard !renewed.isEmpty else { return nil }
    let count = links.count
    return { vehicle in renewed.contains(vehicle % count) }
  }

  /// Sends the messages for the start of a connection, which are accepted even if the queue is full.
  package func sendVital(_ outputs: [SimulatedFleet.Output]) {
    for output in outputs {
      let link = output.vehicle % links.count
      if let ledger {
        ledger.append(output, to: links[link].queue, of: link, isVital: true)
      } else {
        _ = links[link].queue.append(output.message, isVital: true)
      }
    }
    for link in Set(outputs.map { $0.vehicle % links.count }) { links[link].send([]) }
  }

  package var counters: PublishQueue.Counters {
    links.reduce(PublishQueue.Counters()) { $0 + $1.queue.counters }
  }

  package var pending: Int { links.reduce(0) { $0 + $1.queue.pending } }

  package func stop(seconds: Double) {
    for link in links { link.stop(drain: seconds) }
  }
}
