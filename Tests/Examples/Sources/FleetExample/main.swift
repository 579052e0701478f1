import Fleet
import MQTT
import Telemetry

// Prints each change of the vehicles of a fleet.
//
// usage: fleet-example mqtt://127.0.0.1:1883 FLEET

guard CommandLine.arguments.count == 3 else { fatalError("usage: fleet-example BROKER FLEET") }
let broker = MQTTConfiguration.consumer(of: try BrokerAddress(parsing: CommandLine.arguments[1]))
let selection = FleetSelection(fleets: [CommandLine.arguments[2]], kinds: [.status, .location, .region])
let subscriber = try FleetSubscriber(
  broker: broker, filters: try selection.filters(), session: SubscriberSession())

var roster = Roster()
for try await batch in subscriber {
  let before = roster.revision
  for message in batch.messages {
    roster.apply(
      topic: message.topic, payload: message.payload, retained: message.retain, at: batch.receivedAt)
  }
  batch.acknowledge()
  for vehicle in roster.vehicles where vehicle.revision > before {
    let place = vehicle.location.map { "\($0.message.location.coordinate)" } ?? "nowhere yet"
    print("\(vehicle.key) is \(vehicle.state.rawValue) at \(place)")
  }
}
