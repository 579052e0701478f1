internal import Platform
package import Sensors
internal import SensorsRadio

extension AgentConfiguration {
  /// Radios that tell what they hear of the transmitters around.
  package struct Radio: Sendable, Hashable {
    /// The one wireless interface that is scanned; nil scans none.
    package var wifi: String?
    /// Whether ModemManager is asked for cells.
    package var isModemAsked: Bool

    /// What is scanned.
    package var kinds: Set<SensorKind> {
      Set((wifi != nil ? [SensorKind.wifi] : []) + (isModemAsked ? [.cellular] : []))
    }

    package var isEmpty: Bool { wifi == nil && !isModemAsked }
  }
}

extension AgentConfiguration.Radio {
  init(_ reader: ConfigurationReader) throws(ConfigurationError) {
    wifi = reader.optionalText("radio.wifi")
    if let wifi, !NetworkInterfaces.isName(wifi) {
      throw reader.problem(
        "radio.wifi",
        "\"\(wifi.prefix(40))\" is no name of an interface; write one that ip -brief link shows, as in \"wlan0\""
      )
    }
    isModemAsked = try reader.flag("radio.modem")
  }

  /// As sources take them.
  var radios: [SensorsRadio.Radio] {
    (wifi.map { [.wifi(interface: $0)] } ?? []) + (isModemAsked ? [.modem] : [])
  }
}
