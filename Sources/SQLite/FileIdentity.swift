internal import Glibc

/// The identity of a file, which detects that another file has replaced it under the same name.
package struct FileIdentity: Hashable {
  private let device: UInt
  private let number: UInt

  /// Reads the identity of a file; nil if there is no file with this name.
  package init?(_ path: String) {
    var status = stat()
    guard unsafe stat(path, &status) == 0 else { return nil }
    (device, number) = (UInt(status.st_dev), UInt(status.st_ino))
  }
}
