internal import CLinux
internal import Glibc

// Separate from AtomicFile.swift: with whole-module compilation, the order of imports in the module's first
// file decides whether `stat` and `timespec` belong to Glibc or to CLinux. All other files use those of
// Glibc.
extension AtomicFile {
  /// Exchanges the names of two files or folders of one file system atomically.
  /// - Throws: `SystemError`; `EINVAL` if the file system does not support it.
  package static func exchange(_ path: String, with other: String) throws(SystemError) {
    guard unsafe odograph_exchange(path, other) == 0 else {
      throw SystemError(operation: "exchange", object: path, code: errno)
    }
    try synchronize(folderOf: other)
  }

  /// Returns whether a file's folder is in memory and belongs to this user only. Frequent writes then cause
  /// no wear, and the file is lost on power loss. False for a missing folder.
  package static func isInMemory(_ path: String) -> Bool {
    unsafe odograph_is_in_memory(path.lastIndex(of: "/").map { String(path[...$0]) } ?? ".") != 0
  }
}
