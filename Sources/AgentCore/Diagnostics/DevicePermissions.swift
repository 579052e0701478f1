internal import Glibc
internal import Sensors

/// Looks at which sensor devices of this machine the agent's user may open.
///
/// The receiver is not among them: gpsd has it, and whoever reaches gpsd may ask.
struct DevicePermissions {
  /// Where the kernel's device nodes are.
  var folder = "/dev"

  /// The nodes that are there and may not be read, with the kind of sensor behind each, which a node does not say.
  func denied(for configuration: AgentConfiguration) -> [String: SensorKind?] {
    guard configuration.input == .hardware, configuration.iio.isEnabled,
      configuration.iio.contexts.contains(where: { $0.hasPrefix("local:") })
    else { return [:] }
    var denied: [String: SensorKind?] = [:]
    for name in names where name.hasPrefix("iio:device") {
      let path = "\(folder)/\(name)"
      if access(path, R_OK) != 0, errno == EACCES || errno == EPERM { denied[path] = .some(nil) }
    }
    return denied
  }

  private var names: [String] {
    guard let directory = opendir(folder) else { return [] }
    defer { closedir(directory) }
    var names: [String] = []
    while let entry = readdir(directory) {
      let name = withUnsafeBytes(of: entry.pointee.d_name) { bytes in
        String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
      }
      names.append(name)
    }
    return names
  }
}
