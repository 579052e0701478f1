package import ArgumentParser
internal import Fleet
internal import FleetCommand

/// The configuration file of `odograph serve`, which contains the alert settings.
package struct AlertsFileArguments: ParsableArguments {
  @Option(
    help: ArgumentHelp("The configuration of odograph serve.", valueName: "file"), completion: .file())
  package var config: String

  @Option(
    help: ArgumentHelp(
      "File with the alerts (default: `store` of the table [alerts]).", valueName: "file"),
    completion: .file())
  package var store: String?

  package init() {}

  /// Reads the alert settings.
  /// - Throws: `FleetError` for an invalid file, and for a file without alerts.
  func settings() throws(FleetError) -> AlertSettings {
    let file = try SettingsFile(path: config)
    guard var settings = try AlertSettings(file) else {
      throw .usage(
        "use", config, "it has no alerts; add [alerts] with store, and rules as [rules.NAME]")
    }
    settings.store = store ?? settings.store
    return settings
  }
}

/// The options of `odograph alerts list`.
package struct AlertsListOptions: ParsableArguments {
  @OptionGroup package var file: AlertsFileArguments
  @Flag(help: "Also list ended alerts.") package var all = false
  @Option(help: ArgumentHelp("Only alerts of this rule.", valueName: "name")) package var rule: String?
  @Option(help: ArgumentHelp("Only alerts of this vehicle.", valueName: "fleet/vehicle"))
  package var vehicle: String?
  @Flag(help: "Print a JSON line for each alert.") package var json = false

  package init() {}
}

/// The options of `odograph alerts check`.
package struct AlertsCheckOptions: ParsableArguments {
  @OptionGroup package var file: AlertsFileArguments

  package init() {}
}

/// The options of `odograph alerts test`.
package struct AlertsTestOptions: ParsableArguments {
  @OptionGroup package var file: AlertsFileArguments
  @Option(help: ArgumentHelp("Only this receiver (default: all).", valueName: "name"))
  package var receiver: String?

  package init() {}
}

/// The options of `odograph alerts silence`.
package struct AlertsSilenceOptions: ParsableArguments {
  @OptionGroup package var file: AlertsFileArguments
  @Option(help: ArgumentHelp("Alerts of this rule (default: all).", valueName: "name"))
  package var rule: String?
  @Option(
    help: ArgumentHelp("Alerts of a vehicle, or of a fleet (default: all).", valueName: "fleet[/vehicle]"))
  package var vehicle: String?
  @Option(name: .customLong("for"), help: ArgumentHelp("Duration, as in 2h.", valueName: "time"))
  package var duration: String?
  @Flag(help: "End silences of this rule and vehicle.") package var end = false

  package init() {}
}

/// The options of `odograph alerts retry`.
package struct AlertsRetryOptions: ParsableArguments {
  @OptionGroup package var file: AlertsFileArguments

  package init() {}
}

/// The options of `odograph alerts end`.
package struct AlertsEndOptions: ParsableArguments {
  @OptionGroup package var file: AlertsFileArguments
  @Argument(help: ArgumentHelp("Names of alerts, as odograph alerts list prints them.", valueName: "id"))
  package var alerts: [String]

  package init() {}
}
