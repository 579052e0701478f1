internal import Glibc
internal import Platform

/// Folders of the agent's state. A folder is created if only its last part is missing, as for
/// /var/lib/odographd on a new machine. A path with more missing parts is a mistake or an unmounted disk.
/// Folders below the user's own folder (`AgentFolders`) are created completely, accessible by the user only.
enum StateFolder {
  /// Returns the folder of a file as written; "." for a name alone.
  static func of(_ file: String) -> String {
    guard let slash = file.lastIndex(of: "/") else { return "." }
    return slash == file.startIndex ? "/" : String(file[..<slash])
  }

  /// - Parameters:
  ///   - key: configuration key that sets the folder.
  ///   - folders: default folders, whose user folder is created with its parents.
  /// - Throws: `SystemError` if it is missing and cannot be created.
  static func make(_ folder: String, key: String, folders: AgentFolders = .system) throws(SystemError) {
    for parent in folders.parents(of: folder) { mkdir(parent, folders.home == nil ? 0o750 : 0o700) }
    var code = mkdir(folder, 0o750) == 0 ? 0 : errno
    // The system's folder was chosen because there is no user folder. It belongs to another user, which a
    // later message would not explain.
    if code == EEXIST {
      code = folder == folders.state && access(folder, W_OK | X_OK) != 0 && errno == EACCES ? EACCES : 0
    }
    guard code != 0 else { return }
    throw SystemError(operation: "make the folder", object: "\(folder) (\(remedy(key)))", code: code)
  }

  /// Returns the remedy for an unusable folder.
  static func remedy(_ key: String) -> String {
    geteuid() == 0 ? "set \(key)" : "set \(key), or HOME or XDG_STATE_HOME to a folder of yours"
  }

  /// Returns why files cannot be created in a folder, even after creating its missing parts; nil if they can.
  /// - Parameter made: a folder that the agent creates before this one; nil for none.
  static func fault(
    _ folder: String, after made: String? = nil, folders: AgentFolders = .system
  ) -> SystemError? {
    if access(folder, W_OK | X_OK) == 0 { return nil }
    let reason = errno
    // The closest existing parent must allow the creation of the missing folders.
    let above = [of(folder)] + folders.parents(of: folder).reversed().map(of)
    let parent: String = above.first { access($0, F_OK) == 0 } ?? of(folder)
    if reason == ENOENT, of(folder) == made || access(parent, W_OK | X_OK) == 0 { return nil }
    return SystemError(operation: "write into", object: folder, code: reason)
  }
}
