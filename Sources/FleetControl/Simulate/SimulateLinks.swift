internal import Fleet
internal import FleetConsole
internal import MQTT
internal import Telemetry

/// The connections of a simulated fleet; vehicle n is on connection n modulo their number.
struct SimulateLinks: Sendable {
  private struct Link: Sendable {
    var queue: PublishQueue
    var session: MQTTSession
  }

  private let links: [Link]

  init(_ options: SimulateOptions, fleet: SimulatedFleet, waiter: CommandWaiter) throws(FleetError) {
    // Ten seconds of what they say, and room for hello and goodbye.
    let load = options.rate + 2 * options.liveRate
    let perLink = Double(options.vehicles) / Double(options.connections)
    let capacity = Int(perLink * (10 * load + 6)) + 1000
    var links: [Link] = []
    let broker = try options.broker.configuration()
    for number in 0..<options.connections {
      var configuration = broker
      configuration.clientID += "-\(number)"
      configuration.publishWindow = 1000
      configuration.will = fleet.vehicles[number].will
      let queue = PublishQueue(capacity: capacity)
      do throws(MQTTError) {
        let session = try MQTTSession(
          configuration: configuration, outbound: queue,
          handlers: .init(connectionChanged: { state in
            switch state {
            // One speaks for all: a second connection is no return of the first.
            case .connected: if number == 0 { waiter.note(.connected) }
            case .disconnected(let reason, _): waiter.note(.disconnected(reason))
            }
          }))
        links.append(Link(queue: queue, session: session))
      } catch {
        throw FleetError(error)
      }
    }
    self.links = links
  }

  func start() throws(FleetError) {
    for link in links {
      do throws(MQTTError) { try link.session.start() } catch {
        throw FleetError(
          operation: error.operation, object: error.object,
          cause: error.cause + "; use fewer --connections", exit: .unavailable)
      }
    }
  }

  func send(_ outputs: [SimulatedFleet.Output]) {
    guard !outputs.isEmpty else { return }
    if links.count == 1 {
      links[0].queue.append(outputs.lazy.map(\.message))
      links[0].session.wakeUp()
      return
    }
    var parts = [[MQTTMessage]](repeating: [], count: links.count)
    for output in outputs { parts[output.vehicle % links.count].append(output.message) }
    for (link, part) in zip(links, parts) where !part.isEmpty {
      link.queue.append(part)
      link.session.wakeUp()
    }
  }

  var counters: PublishQueue.Counters { links.reduce(PublishQueue.Counters()) { $0 + $1.queue.counters } }

  var pending: Int { links.reduce(0) { $0 + $1.queue.pending } }

  func stop(seconds: Double) {
    for link in links { link.session.stop(drain: seconds) }
  }
}
