internal import Sensors
internal import SensorsGPSD
internal import SensorsIIO

/// What `odographd sensors` prints: every sensor that was found, with what it offers.
package struct SensorListing {
  private let configuration: AgentConfiguration

  package init(_ configuration: AgentConfiguration) {
    self.configuration = configuration
  }

  package func lines() -> [String] {
    let lines =
      (configuration.gpsd.map { receivers($0.address) } ?? []) + configuration.iio.flatMap(devices)
    return lines.isEmpty ? ["gpsd and iio are both off in the configuration"] : lines
  }

  private func receivers(_ address: GPSDAddress) -> [String] {
    do {
      let probe = try GPSDProbe.run(address)
      let head = "gpsd \(probe.version.release) at \(probe.address)"
      return probe.devices.isEmpty
        ? ["\(head): no receiver"] : ["\(head):"] + probe.devices.map { "  positioning   \($0.path)" }
    } catch {
      return ["gpsd at \(address): \(error)"]
    }
  }

  private func devices(_ context: IIOConfiguration) -> [String] {
    do {
      let inventory = try IIOProbe.inventory(context)
      guard !inventory.devices.isEmpty else { return ["iio \(context.uri): no sensor"] }
      var lines = ["iio \(context.uri) (\(inventory.machine)):"]
      for device in inventory.devices {
        lines.append("  \(device.title)")
        for sensor in device.sensors { lines.append("    " + Self.describe(sensor)) }
      }
      return lines
    } catch {
      return ["iio \(context.uri): \(error)"]
    }
  }

  private static func describe(_ sensor: IIOInventory.Sensor) -> String {
    let padding = String(repeating: " ", count: max(1, 14 - sensor.kind.rawValue.count))
    var parts = ["\(sensor.kind.rawValue)\(padding)\(sensor.isBuffered ? "buffered" : "polled")"]
    if let frequency = sensor.frequency { parts.append("\(frequency) Hz") }
    parts.append("offers \(sensor.frequencies)")
    parts.append("mount \(sensor.mountSource.rawValue)")
    return parts.joined(separator: ", ")
  }
}
