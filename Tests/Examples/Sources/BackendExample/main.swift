import Fleet
import MQTT
import Telemetry

// Writes the locations of a fleet into a database. A batch is acknowledged after its commit.
// Unacknowledged messages are delivered again, also after this program was killed. Duplicates are stored once.
//
// usage: backend-example mqtt://127.0.0.1:1883 FLEET fleet.sqlite

guard CommandLine.arguments.count == 4 else { fatalError("usage: backend-example BROKER FLEET DATABASE") }
let database = try LocationDatabase(path: CommandLine.arguments[3])
let broker = MQTTConfiguration.consumer(of: try BrokerAddress(parsing: CommandLine.arguments[1]))
let selection = FleetSelection(fleets: [CommandLine.arguments[2]], kinds: [.location])
// The broker queues this session's messages while the program is not connected.
let subscriber = try FleetSubscriber(
  broker: broker, filters: try selection.filters(), session: SubscriberSession(clientID: "backend-example"))

for try await batch in subscriber {
  var rows: [LocationDatabase.Row] = []
  for message in batch.messages {
    guard let address = TopicAddress(topic: message.topic) else { continue }
    // Unreadable messages are skipped.
    guard
      case .location(let location)? = try? VehicleMessage.decode(path: address.path, payload: message.payload),
      let identity = location.identity
    else { continue }
    rows.append(
      LocationDatabase.Row(
        vehicle: "\(address.fleet)/\(address.vehicle)", identity: identity, message: location))
  }
  try database.insert(rows)
  batch.acknowledge()
  print("stored \(rows.count)")
}
