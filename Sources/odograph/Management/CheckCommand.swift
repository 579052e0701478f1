internal import Fleet
internal import FleetCommand
internal import FleetManagement
internal import FleetProgram
internal import JSON
internal import MQTT
internal import Platform
internal import Spatial
internal import Telemetry

/// The `odograph check` command: tests a broker's configuration and permissions.
enum CheckCommand {
  /// Runs all checks. Returns `.done` if none failed; warnings are not failures.
  static func run(_ options: Check) throws(FleetError) -> ExitStatus {
    let check = try BrokerCheck(
      options.broker.configuration(), root: options.broker.topicRoot,
      fleets: options.broker.fleets(options.fleet))
    if options.json {
      var json = JSONWriter()
      json.openArray()
      for finding in check.findings { finding.write(to: &json) }
      json.closeArray()
      try CommandOutput.print(json.bytes + [0x0A])
    } else {
      try CommandOutput.print(check.findings.map(\.line), styles: CommandOutput.usesStyles)
    }
    // With --json no advice is printed, because programs that read the JSON often read standard error, too.
    if let failure = check.failure, !options.json {
      options.broker.advice(on: failure).forEach(StandardError.report)
    }
    return check.findings.contains { $0.verdict == .failed } ? .unavailable : .done
  }
}

extension CheckFinding {
  fileprivate var line: StyledText {
    let style: TextStyle =
      switch verdict {
      case .ok: TextStyle(.green)
      case .warning: TextStyle(.yellow)
      case .failed: TextStyle(.red, bold: true)
      case .unknown: .dim
      }
    var line = StyledText(verdict.rawValue, style: style).fitted(to: 9)
    line.append(StyledText(subject).fitted(to: 11))
    line.append(text)
    if let remedy { line.append("; \(remedy)", style: .dim) }
    return line
  }

  fileprivate func write(to json: inout JSONWriter) {
    json.openObject()
    json.field("subject", subject)
    json.field("verdict", verdict.rawValue)
    json.field("text", text)
    json.field("remedy", remedy)
    json.closeObject()
  }
}
