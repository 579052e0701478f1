internal import Glibc
internal import Platform
internal import Spatial

/// Files that are read and replaced as a whole.
enum WholeFile {
  /// - Throws: `SystemError`.
  static func read(_ path: String) throws(SystemError) -> [UInt8] {
    let file = try RandomAccessFile(path: path, access: .readOnly)
    var bytes: [UInt8] = []
    while true {
      let chunk = try file.read(count: 1 << 20, at: Int64(bytes.count))
      if chunk.isEmpty { return bytes }
      bytes.append(contentsOf: chunk)
    }
  }

  /// When the file was last written; nil when that cannot be told.
  static func modificationTime(of path: String) -> UTCTime? {
    var info = stat()
    guard stat(path, &info) == 0 else { return nil }
    return UTCTime(nanoseconds: Int64(info.st_mtim.tv_sec) * 1_000_000_000 + Int64(info.st_mtim.tv_nsec))
  }

  /// Puts a new file in the place of the old one: whatever happens, one of the two is there, whole.
  /// - Throws: `SystemError`.
  static func replace(_ path: String, with bytes: [UInt8]) throws(SystemError) {
    let fresh = path + ".new"
    do {
      let file = try RandomAccessFile(path: fresh, access: .readWrite)
      try file.truncate(to: 0)
      try file.write(bytes, at: 0)
      try file.synchronize()
    }
    guard rename(fresh, path) == 0 else { throw SystemError(operation: "replace", object: path, code: errno) }
    // The folder's entry is what has to survive; where it cannot be opened, that is left to the kernel.
    let folder = path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."
    let descriptor = open(folder.isEmpty ? "/" : folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { return }
    fsync(descriptor)
    close(descriptor)
  }
}
