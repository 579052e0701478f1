internal import Glibc
package import Spatial

/// Small files that are read and replaced atomically: a reader finds the old or the new contents, never a
/// mixture.
package enum AtomicFile {
  /// Writes a temporary file, synchronizes it and renames it to the path.
  /// - Parameters:
  ///   - mode: the permissions of a new file.
  ///   - isDurable: false for a file that need not survive a power loss. It is not synchronized, which
  ///     reduces wear of the disk.
  /// - Throws: `SystemError`; the old file is then unchanged. `notAFile` means that the path names a FIFO, a socket or a device.
  package static func write(
    _ bytes: [UInt8], to path: String, mode: UInt32 = 0o640, isDurable: Bool = true
  ) throws(SystemError) {
    guard !FileKind.isSpecial(path) else {
      throw SystemError(operation: "write", object: path, code: SystemError.notAFile)
    }
    let temporary = path + ".new"
    do throws(SystemError) {
      try fill(temporary, with: bytes, mode: mode, isDurable: isDurable)
      try move(temporary, to: path, isDurable: isDurable)
    } catch {
      unsafe unlink(temporary)
      throw SystemError(operation: error.operation, object: path, code: error.code)
    }
  }

  private static func fill(
    _ path: String, with bytes: [UInt8], mode: UInt32, isDurable: Bool
  ) throws(SystemError) {
    let file = try RandomAccessFile(path: path, access: .readWrite, mode: mode, followsLinks: false)
    try file.truncate(to: 0)
    try file.write(bytes, at: 0)
    if isDurable { try file.synchronize() }
  }

  /// Renames a file durably and replaces an existing one.
  package static func move(
    _ path: String, to newPath: String, isDurable: Bool = true
  ) throws(SystemError) {
    guard unsafe rename(path, newPath) == 0 else {
      throw SystemError(operation: "rename", object: path, code: errno)
    }
    guard isDurable else { return }
    try synchronize(folderOf: newPath)
  }

  /// Creates a folder with the missing folders above it, for its user only. An existing folder is unchanged.
  /// - Throws: `SystemError` if it cannot be created.
  package static func makeFolder(_ path: String) throws(SystemError) {
    var end = path.startIndex
    while end < path.endIndex {
      end = path[end...].dropFirst().firstIndex(of: "/") ?? path.endIndex
      guard unsafe mkdir(String(path[..<end]), 0o700) != 0, errno != EEXIST else { continue }
      // For a parent folder, any failure is ignored: creating the last folder fails if a parent is missing.
      let code = errno
      if end == path.endIndex { throw SystemError(operation: "create", object: path, code: code) }
    }
  }

  /// Deletes a file durably. A missing file is not an error.
  package static func remove(_ path: String) throws(SystemError) {
    guard unsafe unlink(path) == 0 else {
      if errno == ENOENT || errno == ENOTDIR { return }
      throw SystemError(operation: "delete", object: path, code: errno)
    }
    try synchronize(folderOf: path)
  }

  /// Synchronizes the folder, because a file's name is durable only if its folder is.
  static func synchronize(folderOf path: String) throws(SystemError) {
    let folder = path.lastIndex(of: "/").map { String(path[...$0]) } ?? "."
    let descriptor = unsafe open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { throw SystemError(operation: "open", object: folder, code: errno) }
    defer { close(descriptor) }
    guard fsync(descriptor) == 0 else {
      throw SystemError(operation: "synchronize", object: folder, code: errno)
    }
  }

  /// Returns the contents of a state file of at most `limit` bytes; nil if the file does not exist.
  /// - Throws: `SystemError`; `EFBIG` for a longer file, `notAFile` for a FIFO, a socket or a device.
  package static func read(_ path: String, limit: Int = 64 << 20) throws(SystemError) -> [UInt8]? {
    do throws(SystemError) { return try contents(of: path, limit: limit, acceptsDevices: false) } catch {
      if error.code == ENOENT { return nil }
      throw error
    }
  }

  /// Returns the contents of a file of at most `limit` bytes.
  /// - Parameter acceptsDevices: true for files that a user names, as `/dev/null`.
  /// - Throws: `SystemError`; `ENOENT` for a missing file, `EFBIG` for a longer one.
  package static func contents(
    of path: String, limit: Int = 64 << 20, acceptsDevices: Bool = true
  ) throws(SystemError) -> [UInt8] {
    let file = try RandomAccessFile(path: path, access: .readOnly, acceptsDevices: acceptsDevices)
    var bytes: [UInt8] = []
    // Files in /proc and pipes report no size.
    while bytes.count <= limit {
      let chunk = try file.read(count: min(limit + 1 - bytes.count, 1 << 16), at: Int64(bytes.count))
      if chunk.isEmpty { return bytes }
      bytes += chunk
    }
    throw SystemError(operation: "read", object: path, code: EFBIG)
  }

  /// Returns the file's modification time; nil if unavailable.
  package static func modificationTime(of path: String) -> UTCTime? {
    var status = stat()
    guard unsafe stat(path, &status) == 0 else { return nil }
    return UTCTime(
      nanoseconds: Int64(status.st_mtim.tv_sec) * 1_000_000_000 + Int64(status.st_mtim.tv_nsec))
  }
}
