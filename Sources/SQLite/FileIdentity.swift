internal import Glibc

/// Tells a file from another that takes its name.
package struct FileIdentity: Hashable {
  private let device: UInt
  private let number: UInt

  /// nil when there is none of that name.
  package init?(_ path: String) {
    var status = stat()
    guard unsafe stat(path, &status) == 0 else { return nil }
    (device, number) = (UInt(status.st_dev), UInt(status.st_ino))
  }
}
