internal import JSON
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

  /// What `odographd sensors --json` prints: one object, `gpsd` (left out where it is off) and `iio`, an array of contexts.
  /// What cannot be reached has `problem` in place of what it offers. Members may be added; those that are there keep their
  /// names and senses.
  package func json() -> [UInt8] {
    JSONWriter.object { json in
      if let gpsd = configuration.gpsd { json.field("gpsd") { Self.write(gpsd.address, to: &$0) } }
      json.key("iio")
      json.openArray()
      for context in configuration.iio { Self.write(context, to: &json) }
      json.closeArray()
    }
  }

  private static func write(_ address: GPSDAddress, to json: inout JSONWriter) {
    json.field("address", "\(address)")
    do {
      let probe = try GPSDProbe.run(address)
      json.field("release", probe.version.release)
      json.field("receivers", texts: probe.devices.map(\.path))
    } catch { json.field("problem", "\(error)") }
  }

  private static func write(_ context: IIOConfiguration, to json: inout JSONWriter) {
    json.openObject()
    json.field("uri", context.uri)
    do {
      let inventory = try IIOProbe.inventory(context)
      json.field("machine", inventory.machine)
      json.key("devices")
      json.openArray()
      for device in inventory.devices {
        json.openObject()
        json.field("id", device.identifier)
        json.field("name", device.name)
        json.field("label", device.label)
        json.key("sensors")
        json.openArray()
        for sensor in device.sensors {
          json.openObject()
          json.field("kind", sensor.kind.rawValue)
          json.field("buffered", sensor.isBuffered)
          json.field("frequency", sensor.frequency, decimals: 3)
          json.field("offers", "\(sensor.frequencies)")
          json.field("mount", sensor.mountSource.rawValue)
          json.closeObject()
        }
        json.closeArray()
        json.closeObject()
      }
      json.closeArray()
    } catch { json.field("problem", "\(error)") }
    json.closeObject()
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
      guard !inventory.devices.isEmpty else { return [Finding.title("iio \(context.uri)") + " no sensor"] }
      var lines = ["iio \(context.uri) (\(inventory.machine)):"]
      for device in inventory.devices {
        lines.append("  \(device.title)")
        for sensor in device.sensors { lines.append("    " + Self.describe(sensor)) }
      }
      return lines
    } catch {
      return [Finding.title("iio \(context.uri)") + " \(error)"]
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
