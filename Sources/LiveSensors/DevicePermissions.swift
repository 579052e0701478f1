internal import Glibc
internal import Platform
package import Sensors
package import SensorsIIO

/// Checks which sensor devices of this machine the user may open. GNSS receivers are not checked, because
/// gpsd opens them.
package struct DevicePermissions {
  /// The folder of the kernel's device nodes.
  package var folder = "/dev"

  package init() {}

  /// Returns the existing device nodes that this process may not read, each with the kind of its sensor. The
  /// kind is nil, because a node does not show it.
  package func denied(for contexts: [IIOConfiguration]) -> [String: SensorKind?] {
    guard contexts.contains(where: { $0.uri.hasPrefix("local:") }) else { return [:] }
    var denied: [String: SensorKind?] = [:]
    for name in SmallFiles.names(in: folder) where name.hasPrefix("iio:device") {
      let path = "\(folder)/\(name)"
      if access(path, R_OK) != 0, errno == EACCES || errno == EPERM { denied[path] = .some(nil) }
    }
    return denied
  }
}
