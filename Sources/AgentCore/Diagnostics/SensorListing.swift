internal import JSON
internal import Sensors
internal import SensorsCAN
internal import SensorsGPSD
internal import SensorsIIO
internal import SensorsRadio

/// Implements `odographd sensors`: lists every sensor found, with its capabilities.
package struct SensorListing {
  private let configuration: AgentConfiguration

  package init(_ configuration: AgentConfiguration) {
    self.configuration = configuration
  }

  package func lines() -> [String] {
    let lines =
      (configuration.gpsd.map { receivers($0.address) } ?? []) + configuration.iio.flatMap(devices) + buses()
      + RadioListing(configuration.radio).lines()
    return lines.isEmpty ? ["gpsd and iio are both off in the configuration"] : lines
  }

  /// The existing CAN interfaces and the configured one.
  private var interfaces: [CANInterface] {
    let found = CANInterface.all()
    guard let wanted = configuration.can?.interface, !found.contains(where: { $0.name == wanted }) else {
      return found
    }
    return found + [CANInterface(name: wanted, isUp: false)]
  }

  private func buses() -> [String] {
    interfaces.map { interface in
      let title = Finding.title("can \(interface.name)")
      do throws(SourceError) {
        return title + " \(try CANTraffic.listen(to: interface.name))"
      } catch {
        return title + " \(error.problem); \(error.remedy)"
      }
    }
  }

  private func writeBuses(to json: inout JSONWriter) {
    for interface in interfaces {
      json.openObject()
      json.field("interface", interface.name)
      json.field("up", interface.isUp)
      do throws(SourceError) {
        let traffic = try CANTraffic.listen(to: interface.name)
        json.field("frames", traffic.frames)
        json.field("identifiers", traffic.identifiers)
        json.field("j1939", traffic.hasJ1939)
        json.field("obd", traffic.hasDiagnostics)
        json.field("errors", traffic.hasErrors)
      } catch { json.field("problem", "\(error)") }
      json.closeObject()
    }
  }

  /// Returns the output of `odographd sensors --json`, an object with: `gpsd` (omitted if disabled); `iio`,
  /// an array of contexts; `can`, an array of interfaces with the traffic of one second; `wifi`, an array of
  /// wireless interfaces; and `modems`, an array (an object with `problem` if radio.modem is set and
  /// ModemManager does not answer). Unreachable objects contain `problem` instead of their capabilities.
  /// Members may be added; existing ones retain their names and meanings.
  package func json() -> [UInt8] {
    JSONWriter.object { json in
      if let gpsd = configuration.gpsd { json.field("gpsd") { Self.write(gpsd.address, to: &$0) } }
      json.key("iio")
      json.openArray()
      for context in configuration.iio { Self.write(context, to: &json) }
      json.closeArray()
      json.key("can")
      json.openArray()
      writeBuses(to: &json)
      json.closeArray()
      RadioListing(configuration.radio).write(to: &json)
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
      json.field("devices", objects: inventory.devices) { json, device in
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
          json.field("range", sensor.range, decimals: 2)
          json.field("mount", sensor.mountSource.rawValue)
          json.field("problem", sensor.problem)
          json.closeObject()
        }
        json.closeArray()
      }
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
    if let frequency = sensor.frequency { parts.append("\(SamplingFrequencies.text(frequency)) Hz") }
    parts.append("offers \(sensor.frequencies)")
    if let range = sensor.range {
      let unit = sensor.kind == .gyroscope ? "rad/s" : "m/s²"
      parts.append("range ±\((range * 10).rounded() / 10) \(unit)")
    }
    parts.append("mount \(sensor.mountSource.rawValue)")
    if let problem = sensor.problem { parts.append(problem) }
    return parts.joined(separator: ", ")
  }
}
