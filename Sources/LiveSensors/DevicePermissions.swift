internal import Glibc
internal import Platform
package import Sensors
package import SensorsIIO

/// Checks which sensor devices of this machine the user may open.
///
/// Receivers are not among them: gpsd opens those.
package struct DevicePermissions {
  /// Folder of the kernel's device nodes.
  package var folder = "/dev"

  package init() {}

  /// Returns the existing nodes that may not be read, with the kind of sensor behind each, which a node does not reveal.
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
