internal import Glibc
internal import Platform

/// The folders of what the agent keeps. One is made where only its last part is missing, as /var/lib/odographd is on a new
/// machine; a path of which more is missing is a mistake, or a disk that is not mounted.
enum StateFolder {
  /// The folder of a file, as it was written; "." for a name alone.
  static func of(_ file: String) -> String {
    guard let slash = file.lastIndex(of: "/") else { return "." }
    return slash == file.startIndex ? "/" : String(file[..<slash])
  }

  /// - Parameter key: the configuration key that names it.
  /// - Throws: `SystemError` when it is not there and cannot be made.
  static func make(_ folder: String, key: String) throws(SystemError) {
    guard mkdir(folder, 0o750) != 0, errno != EEXIST else { return }
    throw SystemError(operation: "make the folder", object: "\(folder) (\(key))", code: errno)
  }

  /// Why a folder takes no files, though what is missing of it were made; nil when it takes them.
  /// - Parameter made: a folder that is made before.
  static func fault(_ folder: String, after made: String? = nil) -> SystemError? {
    if access(folder, W_OK | X_OK) == 0 { return nil }
    let reason = errno
    let parent = of(folder)
    if reason == ENOENT, parent == made || access(parent, W_OK | X_OK) == 0 { return nil }
    return SystemError(operation: "write into", object: folder, code: reason)
  }
}
