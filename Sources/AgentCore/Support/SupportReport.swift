internal import Glibc
internal import JSON
internal import Platform
internal import Settings
internal import Spatial
internal import Telemetry

/// Output of `odographd support`: information for remote support in one text without private data.
package struct SupportReport {
  private let layers: ConfigurationLayers
  private let version: String

  package init(_ layers: ConfigurationLayers, version: String) {
    self.layers = layers
    self.version = version
  }

  /// Returns the report. It takes some seconds, because it checks sensors and broker as `odographd check`
  /// does.
  package func text() -> String {
    var sections: [(title: String, lines: [String])] = [("agent", agent), ("system", system)]
    sections.append(("configuration", RedactedConfiguration(layers).lines))
    do throws(ConfigurationError) {
      let configuration = try layers.configuration()
      var check = EnvironmentCheck(configuration)
      sections.append(("running agent", running(configuration)))
      sections.append(("store", store(configuration)))
      sections.append(("sensors", SensorListing(configuration).lines()))
      sections.append(("check", check.run().map(\.line)))
      sections.append(("estimate", check.estimate(drivingHours: 2)))
    } catch { sections.append(("check", [Self.fault(error)])) }
    return sections.map { section in
      // Other sections have numbers as exact as a coordinate, such as a sensor's scale, but no positions.
      let redact =
        ["running agent", "check"].contains(section.title) ? Redaction.text : Redaction.credentials
      return "== \(section.title)\n" + section.lines.map { redact($0) + "\n" }.joined()
    }.joined(separator: "\n")
  }

  /// Describes a fault of the configuration. The message may quote a value: only those of keys without secrets are shown.
  private static func fault(_ error: ConfigurationError) -> String {
    let key = error.problem.hasPrefix("key ") ? error.problem.dropFirst(4).prefix { $0 != ":" } : ""
    let sensitive = RedactedConfiguration.secret.union(RemoteKeys.files).union(["mqtt.broker"])
    guard ConfigurationKey.byPath[String(key)] != nil, !sensitive.contains(String(key)) else {
      return "the configuration is faulty at \(error.place); run odographd check for the reason"
    }
    return "\(error.place): \(error.problem)"
  }

  /// Writes the report where only its owner reads it.
  ///
  /// - Throws: `SystemError`, for example if the file exists.
  package func write(to path: String) throws {
    let bytes = Array(text().utf8)
    let file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard file >= 0 else { throw SystemError(operation: "create", object: path, code: errno) }
    defer { close(file) }
    var done = 0
    while done < bytes.count {
      let count = Glibc.write(file, Array(bytes[done...]), bytes.count - done)
      guard count > 0 else { throw SystemError(operation: "write", object: path, code: errno) }
      done += count
    }
  }

  private var agent: [String] {
    ["version \(version)", "time \(UTCTime.now.rfc3339)", "user \(getuid())"]
  }

  private var system: [String] {
    let files = [
      ("kernel", "/proc/version"), ("load", "/proc/loadavg"), ("up", "/proc/uptime"),
    ]
    var lines = files.compactMap { name, path in SmallFiles.text(path).map { "\(name) \($0)" } }
    let release = SmallFiles.text("/etc/os-release")?.split(separator: "\n")
    lines += release?.filter { $0.hasPrefix("PRETTY_NAME=") }.map(String.init) ?? []
    lines += SmallFiles.text("/proc/meminfo")?.split(separator: "\n").prefix(3).map(String.init) ?? []
    return lines
  }

  /// Returns the running agent's status without its position.
  private func running(_ configuration: AgentConfiguration) -> [String] {
    do {
      var document = try JSONValue(parsing: try StatusQuery(configuration, socket: nil).document())
      if case .object(var fields) = document {
        if fields["location"] != nil { fields["location"] = .string("redacted") }
        document = .object(fields)
      }
      return StatusText.lines(document).filter { !$0.hasPrefix("location") }
        + ["recent problems:"]
        + (document["problems"]?.array ?? []).map {
          "  \($0["time"]?.string ?? "") \($0["text"]?.string ?? "")"
        } + counters(document["status"])
    } catch {
      return ["no answer: \(error)"]
    }
  }

  private func counters(_ status: JSONValue?) -> [String] {
    guard case .object(let counters)? = status?["counters"] else { return [] }
    return ["counters:"]
      + counters.sorted { $0.key < $1.key }.map { "  \($0.key) \($0.value.integer ?? 0)" }
  }

  private func store(_ configuration: AgentConfiguration) -> [String] {
    let path = configuration.store.path
    return ["", "-wal", ".lock"].map { ending in
      var information = stat()
      guard stat(path + ending, &information) == 0 else {
        return "\(path)\(ending): \(SystemError.message(for: errno))"
      }
      return
        "\(path)\(ending): \(information.st_size) bytes, user \(information.st_uid), mode 0\(String(information.st_mode & 0o777, radix: 8))"
    }
  }
}
