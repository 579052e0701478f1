internal import Platform
package import Sensors
internal import SensorsRadio

extension AgentConfiguration {
  /// Radios whose scans are read.
  package struct Radio: Sendable, Hashable {
    /// The only wireless interface that is scanned; nil for none.
    package var wifi: String?
    /// True if cells are requested from ModemManager.
    package var isModemAsked: Bool

    /// The scanned kinds.
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

  /// The radios in the form that sources require.
  var radios: [SensorsRadio.Radio] {
    (wifi.map { [.wifi(interface: $0)] } ?? []) + (isModemAsked ? [.modem] : [])
  }
}
