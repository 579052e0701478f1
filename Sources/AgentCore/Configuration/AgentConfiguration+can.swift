internal import Pipeline
package import SensorsCAN
internal import Telemetry

extension AgentConfiguration {
  /// Settings of the vehicle's CAN bus.
  package struct CAN: Sendable, Hashable {
    /// Name of the CAN interface; nil if only a log is read. The first interface that occurs in the log is
    /// then used.
    package var interface: String?
    package var signals: CANConfiguration
    package var voltageFile: String?

    /// The bus to read live; nil if no interface is configured.
    package var bus: CANBus? {
      interface.map { CANBus(interface: $0, configuration: signals, voltageFile: voltageFile) }
    }

    /// Returns the settings to read a log of the bus instead of the live bus.
    package func log(_ path: String) -> CANLog {
      CANLog(path: path, interface: interface, configuration: signals)
    }
  }
}

extension AgentConfiguration.CAN {
  /// A suggestion for a mistyped path, to append to a message; empty if no path is close.
  fileprivate static func suggestion(for text: String) -> String {
    let path = text.prefix { $0 != "=" }.filter { $0 != " " && $0 != "\t" }
    return VehicleSignal.path(near: path).map { "; did you mean \($0)?" } ?? ""
  }

  /// Reads the `can` keys. Nil if neither an interface nor a log is configured.
  init?(_ reader: ConfigurationReader) throws(ConfigurationError) {
    interface = reader.optionalText("can.interface")
    guard interface != nil || reader.optionalText("replay.can") != nil else { return nil }
    if let interface, !CANBus.isInterface(interface) {
      throw reader.problem(
        "can.interface",
        "\"\(interface.prefix(40))\" is no name of an interface; write one that ip -brief link shows, as in \"can0\""
      )
    }
    signals = CANConfiguration(
      database: reader.optionalText("can.dbc"), isJ1939: try reader.flag("can.j1939"),
      diagnostics: OBDAddressing(rawValue: try reader.text("can.obd")))
    for text in try reader.texts("can.signals") {
      guard let signal = CANConfiguration.Signal(parsing: text) else {
        throw reader.problem(
          "can.signals",
          "\"\(text.prefix(120))\" is neither a VSS path, as in \"Vehicle.Speed\", nor one with a signal of can.dbc, as in "
            + "\"Vehicle.Speed = EngineData.Speed\"" + Self.suggestion(for: text))
      }
      signals.signals.append(signal)
    }
    guard signals.signals.count <= PipelineConfiguration.Vehicle.mostSignals else {
      throw reader.problem(
        "can.signals",
        "names \(signals.signals.count) signals; at most \(PipelineConfiguration.Vehicle.mostSignals) are published for one vehicle"
      )
    }
    voltageFile = reader.optionalText("can.voltage_path")
    if voltageFile != nil, signals.diagnostics == nil {
      throw reader.problem(
        "can.voltage_path", "only OBD-II requests go by the voltage; set can.obd or leave it out", .conflict)
    }
  }
}

extension PipelineConfiguration.Vehicle {
  init(_ reader: ConfigurationReader) throws(ConfigurationError) {
    let path = try reader.text("can.speed")
    guard path == "none" || VehicleSignal.isPath(path) else {
      throw reader.problem(
        "can.speed",
        "\"\(path.prefix(80))\" is no VSS path of a speed; write one of can.signals, or \"none\""
          + AgentConfiguration.CAN.suggestion(for: path))
    }
    self.init()
    interval = try reader.number("can.interval")
    speedPath = path == "none" ? nil : path
  }
}
