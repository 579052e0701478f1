internal import CLinux
internal import Glibc

// Separate from AtomicFile.swift for the reason given in FileExchange.swift.
extension AtomicFile {
  /// Renames a file durably to a name that does not exist yet.
  ///
  /// Never replaces a file, even if it was created a moment before. If the file system lacks an exclusive
  /// rename, a hard link is created and the old name is removed. If it lacks hard links, too, the check for
  /// an existing file is not atomic.
  /// - Throws: `SystemError`; `EEXIST` if the name exists.
  package static func moveToNewName(_ path: String, to newPath: String) throws(SystemError) {
    if unsafe odograph_rename_new(path, newPath) != 0 {
      guard [EINVAL, ENOSYS].contains(errno) else {
        throw SystemError(operation: "rename", object: path, code: errno)
      }
      try moveBySecondName(path, to: newPath)
    }
    try synchronize(folderOf: newPath)
  }

  /// Implements `moveToNewName` for file systems without rename flags.
  static func moveBySecondName(_ path: String, to newPath: String) throws(SystemError) {
    if unsafe link(path, newPath) == 0 {
      unsafe unlink(path)
      return
    }
    guard [EPERM, ENOTSUP, ENOSYS].contains(errno) else {
      throw SystemError(operation: "rename", object: path, code: errno)
    }
    guard unsafe faccessat(AT_FDCWD, newPath, F_OK, AT_SYMLINK_NOFOLLOW) != 0 else {
      throw SystemError(operation: "rename", object: path, code: EEXIST)
    }
    guard unsafe rename(path, newPath) == 0 else {
      throw SystemError(operation: "rename", object: path, code: errno)
    }
  }
}
