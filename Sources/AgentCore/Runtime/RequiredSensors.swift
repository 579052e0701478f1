internal import LiveSensors
internal import Motion
internal import Sensors
internal import SensorsGPSD
internal import SensorsIIO
internal import SensorsRadio

/// Compares required with existing sensors before the agent starts.
struct RequiredSensors {
  private let configuration: AgentConfiguration

  init(_ configuration: AgentConfiguration) {
    self.configuration = configuration
  }

  /// Checks only if sensors are required, because detection takes time and hardware may also appear later.
  ///
  /// - Throws: `ConfigurationError` naming the missing sensors.
  func check(_ feed: SensorFeed) throws(ConfigurationError) {
    guard !configuration.requiredSensors.isEmpty else { return }
    let check = CapabilityCheck(required: configuration.requiredSensors, present: present(in: feed))
    if let complaint = check.complaint {
      throw ConfigurationError(.conflict, place: "sensors.required", problem: complaint)
    }
  }

  /// Returns the kinds of sensors that exist. This takes some seconds if a gpsd or an iiod does not answer.
  func present(in feed: SensorFeed) -> Set<SensorKind> {
    switch feed {
    case .paced(let source): return source.kinds
    case .recorded(let recording): return recording.kinds
    case .live:
      var kinds: Set<SensorKind> = []
      if let gpsd = configuration.gpsd, let probe = try? GPSDProbe.run(gpsd.address),
        gpsd.device.map({ wanted in probe.devices.contains { $0.path == wanted } })
          ?? !probe.devices.isEmpty
      {
        kinds.insert(.positioning)
      }
      for context in configuration.iio {
        if let inventory = try? IIOProbe.inventory(context) {
          kinds.formUnion(inventory.kinds.intersection(context.kinds))
        }
      }
      if let wifi = configuration.radio.wifi, WirelessInterface.all().contains(where: { $0.name == wifi }) {
        kinds.insert(.wifi)
      }
      if configuration.radio.isModemAsked, let modems = try? Modem.all(), !modems.isEmpty {
        kinds.insert(.cellular)
      }
      return kinds
    }
  }
}
