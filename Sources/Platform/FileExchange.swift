internal import CLinux
internal import Glibc

// Not in AtomicFile.swift: the first file of a module that is compiled as a whole decides by the order of its imports
// whether `stat` and `timespec` are Glibc's or CLinux's, and all others name Glibc.
extension AtomicFile {
  /// Gives two files or folders of one file system each other's names, at once.
  /// - Throws: `SystemError`; `EINVAL` where the file system cannot.
  public static func exchange(_ path: String, with other: String) throws(SystemError) {
    guard unsafe odograph_exchange(path, other) == 0 else {
      throw SystemError(operation: "exchange", object: path, code: errno)
    }
    try synchronize(folderOf: other)
  }

  /// Whether a file's folder is in memory, so that writing it often wears nothing and a loss of power takes it, and belongs to this
  /// user alone; false for a folder that is not there.
  public static func isInMemory(_ path: String) -> Bool {
    unsafe odograph_is_in_memory(path.lastIndex(of: "/").map { String(path[...$0]) } ?? ".") != 0
  }
}
