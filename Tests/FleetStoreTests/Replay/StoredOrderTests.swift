import Fleet
import FleetFixtures
import FleetStore
import MQTT
import Spatial
import TestSupport
import Testing

@Suite struct StoredOrderTests {
  private func stored(_ topic: String, _ kind: String?) -> StoredMessage {
    StoredMessage(
      received: noon, topic: topic, vehicle: kind.map { _ in VehicleKey(fleet: "f", vehicle: "v") },
      kind: kind,
      qos: .atLeastOnce, retain: false, payload: [])
  }

  /// Table: messages to vehicles, below roots that were configured in the recorder and others.
  @Test func messagesToVehiclesAreDetected() {
    for path in [
      "config/desired", "regions/desired", "beacons/piece", "command/locate", "command/track", "cmd",
    ] {
      #expect(stored("odograph/v1/f/v/\(path)", path).isOrder, "\(path)")
      #expect(stored("acme/f/v/\(path)", nil).isOrder, "\(path)")
    }
    for path in [
      "status", "location", "track", "config/reported", "regions/reported", "command/locate/response",
      "command",
      "command/", "desired", "event", "waypoints",
    ] {
      #expect(!stored("odograph/v1/f/v/\(path)", path).isOrder, "\(path)")
      #expect(!stored("acme/f/v/\(path)", nil).isOrder, "\(path)")
    }
  }

  /// Vehicles and sensors whose names are those of commands.
  @Test func namesAreNoCommands() {
    for name in ["command", "cmd", "config"] {
      #expect(!stored("odograph/v1/f/\(name)/location", "location").isOrder)
      #expect(!stored("owntracks/ann/\(name)", "location").isOrder)
    }
    for topic in ["", "cmd", "a/cmd", "command/locate", "config/desired", "a/b/command/on"] {
      #expect(!stored(topic, nil).isOrder, "\(topic)")
    }
  }
}
