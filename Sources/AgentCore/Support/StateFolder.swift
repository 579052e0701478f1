internal import Glibc
internal import Platform

/// The folders of what the agent keeps. One is made where only its last part is missing, as /var/lib/odographd is on a new
/// machine; a path of which more is missing is a mistake, or a disk that is not mounted. What is below a user's own folder
/// (`AgentFolders`) is made as a whole, for its user only.
enum StateFolder {
  /// The folder of a file, as it was written; "." for a name alone.
  static func of(_ file: String) -> String {
    guard let slash = file.lastIndex(of: "/") else { return "." }
    return slash == file.startIndex ? "/" : String(file[..<slash])
  }

  /// - Parameters:
  ///   - key: the configuration key that names it.
  ///   - folders: whose own folder is made with what is above it.
  /// - Throws: `SystemError` when it is not there and cannot be made.
  static func make(_ folder: String, key: String, folders: AgentFolders = .system) throws(SystemError) {
    for parent in folders.parents(of: folder) { mkdir(parent, folders.home == nil ? 0o750 : 0o700) }
    var code = mkdir(folder, 0o750) == 0 ? 0 : errno
    // The system's, taken for want of a folder of one's own: it is another user's, which a later message would not explain.
    if code == EEXIST {
      code = folder == folders.state && access(folder, W_OK | X_OK) != 0 && errno == EACCES ? EACCES : 0
    }
    guard code != 0 else { return }
    throw SystemError(operation: "make the folder", object: "\(folder) (\(remedy(key)))", code: code)
  }

  /// What to do about a folder that cannot be used.
  static func remedy(_ key: String) -> String {
    geteuid() == 0 ? "set \(key)" : "set \(key), or HOME or XDG_STATE_HOME to a folder of yours"
  }

  /// Why a folder takes no files, though what is missing of it were made; nil when it takes them.
  /// - Parameter made: a folder that is made before.
  static func fault(
    _ folder: String, after made: String? = nil, folders: AgentFolders = .system
  ) -> SystemError? {
    if access(folder, W_OK | X_OK) == 0 { return nil }
    let reason = errno
    // The nearest that is there has to take the others.
    let above = [of(folder)] + folders.parents(of: folder).reversed().map(of)
    let parent: String = above.first { access($0, F_OK) == 0 } ?? of(folder)
    if reason == ENOENT, of(folder) == made || access(parent, W_OK | X_OK) == 0 { return nil }
    return SystemError(operation: "write into", object: folder, code: reason)
  }
}
