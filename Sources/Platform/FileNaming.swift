internal import CLinux
internal import Glibc

// Not in AtomicFile.swift, for the reason given in FileExchange.swift.
extension AtomicFile {
  /// Gives a file another name that nothing has yet, so that a loss of power does not undo it.
  ///
  /// Nothing is replaced, also when it was made a moment before. Where the file system cannot rename so, the file gets a
  /// second name, and loses its first; where it has no second names either, only what was there before is seen.
  /// - Throws: `SystemError`; `EEXIST` when something has the name.
  public static func moveToNewName(_ path: String, to newPath: String) throws(SystemError) {
    if unsafe odograph_rename_new(path, newPath) != 0 {
      guard [EINVAL, ENOSYS].contains(errno) else {
        throw SystemError(operation: "rename", object: path, code: errno)
      }
      try moveBySecondName(path, to: newPath)
    }
    try synchronize(folderOf: newPath)
  }

  /// The way of `moveToNewName` on file systems that know no flags of rename.
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
