internal import Glibc
package import Platform

/// Folders of the agent's state. A folder is created if only its last part is missing, as for
/// /var/lib/odographd on a new machine. A path with more missing parts is a mistake or an unmounted disk.
/// Folders below the user's own folder (`AgentFolders`) are created completely, accessible by the user only.
package enum StateFolder {
  /// Returns the folder of a file as written; "." for a name alone.
  package static func of(_ file: String) -> String {
    guard let slash = file.lastIndex(of: "/") else { return "." }
    return slash == file.startIndex ? "/" : String(file[..<slash])
  }

  /// - Parameters:
  ///   - key: configuration key that sets the folder.
  ///   - folders: default folders, whose user folder is created with its parents.
  /// - Throws: `SystemError` if it is missing and cannot be created.
  package static func make(_ folder: String, key: String, folders: AgentFolders = .system) throws(SystemError)
  {
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

  /// Creates a folder. A full or read-only disk must not stop the agent, which then has the state in memory only.
  ///
  /// - Returns: the disk's failure; nil if there is none.
  /// - Throws: `SystemError` if the folder is missing and cannot be created for another reason, such as a wrong path.
  static func makeIfWritable(
    _ folder: String, key: String, folders: AgentFolders = .system
  ) throws(SystemError) -> SystemError? {
    do throws(SystemError) {
      try make(folder, key: key, folders: folders)
      return nil
    } catch {
      // A file system without folders of users reports EPERM.
      guard [EROFS, ENOSPC, EDQUOT, EIO, EPERM].contains(error.code) else { throw error }
      return error
    }
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

  /// Checks that the files of this process will be usable for the user of the folder. Root's files are not, and the
  /// service would then hold all records in memory.
  /// - Throws: `ConfigurationError` if root runs the agent in the folder of another user.
  static func checkOwner(of folder: String, key: String) throws(ConfigurationError) {
    guard geteuid() == 0, let owner = owner(of: folder), owner != 0 else { return }
    let name = userName(owner)
    throw ConfigurationError(
      .conflict, place: folder,
      problem:
        "belongs to the user \(name), whose agent could not open the files of root; run odographd as \(name) "
        + "(setpriv --reuid=\(name) --regid=\(name) --init-groups odographd run), or set \(key) to another folder"
    )
  }

  /// Returns the first existing state file that the folder's user cannot open, with the name of that user; nil if
  /// there is none.
  /// - Parameter store: path of the outbox, whose name all state files beside it start with.
  package static func unusableFile(beside store: String) -> (path: String, user: String)? {
    let folder = of(store)
    guard let owner = owner(of: folder) else { return nil }
    let prefix = store.dropFirst(folder == "." ? 0 : folder.utf8.count + 1)
    for name in SmallFiles.names(in: folder).sorted() {
      guard name.hasPrefix(prefix) || name == StateClaim.fileName else { continue }
      let path = folder + "/" + name
      let isForeign =
        geteuid() == 0 ? Self.owner(of: path) == 0 && owner != 0 : access(path, R_OK | W_OK) != 0
      if isForeign { return (path, userName(geteuid() == 0 ? owner : geteuid())) }
    }
    return nil
  }

  /// Returns the user ID of a file's owner; nil if the file is missing.
  private static func owner(of path: String) -> uid_t? {
    var status = stat()
    return stat(path, &status) == 0 ? status.st_uid : nil
  }

  /// Returns the name of a user, or the number if /etc/passwd does not contain it.
  private static func userName(_ identifier: uid_t) -> String {
    let users = (try? AtomicFile.read("/etc/passwd", limit: 1 << 20)).flatMap { $0 } ?? []
    let lines = String(decoding: users, as: UTF8.self).split(separator: "\n")
    let fields = lines.lazy.map { $0.split(separator: ":", omittingEmptySubsequences: false) }
    return fields.first { $0.count > 2 && $0[2] == "\(identifier)" }.map { String($0[0]) } ?? "\(identifier)"
  }
}
