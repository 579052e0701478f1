internal import Glibc

/// Kind of the object at a path, for settings that require a file.
package enum FileKind {
  /// Returns whether a path names a FIFO, a socket or a device. False if there is nothing.
  package static func isSpecial(_ path: String) -> Bool {
    var status = stat()
    return unsafe stat(path, &status) == 0 && !isOrdinary(status)
  }

  /// Returns whether a descriptor belongs to a file or a folder, or to an accepted device such as
  /// `/dev/null`.
  static func isSuitable(_ descriptor: Int32, acceptsDevices: Bool) -> Bool {
    var status = stat()
    guard unsafe fstat(descriptor, &status) == 0 else { return true }
    return isOrdinary(status) || acceptsDevices && status.st_mode & S_IFMT == S_IFCHR
  }

  private static func isOrdinary(_ status: stat) -> Bool {
    [S_IFREG, S_IFDIR].contains(status.st_mode & S_IFMT)
  }
}
