internal import Glibc
internal import Platform

/// The causes for which a file cannot be opened or created, as texts for errors.
package enum FileFailure {
  /// Returns the text for an error number.
  package static func cause(of code: Int32) -> String {
    switch code {
    case ENOENT: "no such file"
    case EACCES: "permission denied"
    case EISDIR: "is a folder; name a file"
    default: SystemError.message(for: code)
    }
  }

  /// Returns why a file cannot be opened for reading, for a library that does not report the cause; nil if it
  /// can be opened. Does not open the file: closing a database's file would release SQLite's locks on it.
  package static func causeOfFailure(toOpen path: String) -> String? {
    guard unsafe access(path, R_OK) == 0 else { return cause(of: errno) }
    var information = stat()
    let isFolder = unsafe stat(path, &information) == 0 && information.st_mode & S_IFMT == S_IFDIR
    return isFolder ? cause(of: EISDIR) : nil
  }

  /// Returns why a file cannot be written or created, for a library that does not report the cause; nil if it
  /// can.
  package static func causeOfFailure(toCreate path: String) -> String? {
    if let cause = causeOfFailure(toOpen: path), cause != self.cause(of: ENOENT) { return cause }
    let folder = path.lastIndex(of: "/").map { String(path[...$0]) } ?? "."
    guard unsafe access(folder, F_OK) == 0 else { return "no such folder: \(folder)" }
    for place in [path, folder] where unsafe access(place, W_OK) != 0 && errno != ENOENT {
      return "\(cause(of: errno)) (\(place))"
    }
    return nil
  }
}
