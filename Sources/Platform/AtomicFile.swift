internal import Glibc

/// Small files that are read and replaced as a whole: a reader finds the old contents or the new ones, never a mixture.
public enum AtomicFile {
  /// Writes a file beside the old one, makes it safe on the disk and renames it into its place.
  /// - Parameters:
  ///   - mode: of a file that is not there yet.
  ///   - isDurable: false for a file that is worth nothing after a loss of power: it is not synchronized, which spares the disk.
  /// - Throws: `SystemError` naming what failed; the old file is then untouched.
  public static func write(
    _ bytes: [UInt8], to path: String, mode: UInt32 = 0o640, isDurable: Bool = true
  ) throws(SystemError) {
    let temporary = path + ".new"
    do throws(SystemError) {
      try fill(temporary, with: bytes, mode: mode, isDurable: isDurable)
      try move(temporary, to: path, isDurable: isDurable)
    } catch {
      unsafe unlink(temporary)
      throw error
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

  /// Gives a file another name, in the place of one that has it already, so that a loss of power does not undo it.
  public static func move(
    _ path: String, to newPath: String, isDurable: Bool = true
  ) throws(SystemError) {
    guard unsafe rename(path, newPath) == 0 else {
      throw SystemError(operation: "rename", object: path, code: errno)
    }
    guard isDurable else { return }
    try synchronize(folderOf: newPath)
  }

  /// Deletes a file so that a loss of power does not bring it back. One that is not there is no error.
  public static func remove(_ path: String) throws(SystemError) {
    guard unsafe unlink(path) == 0 else {
      if errno == ENOENT || errno == ENOTDIR { return }
      throw SystemError(operation: "delete", object: path, code: errno)
    }
    try synchronize(folderOf: path)
  }

  /// A name is safe when its folder is.
  static func synchronize(folderOf path: String) throws(SystemError) {
    let folder = path.lastIndex(of: "/").map { String(path[...$0]) } ?? "."
    let descriptor = unsafe open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { throw SystemError(operation: "open", object: folder, code: errno) }
    defer { close(descriptor) }
    guard fsync(descriptor) == 0 else {
      throw SystemError(operation: "synchronize", object: folder, code: errno)
    }
  }

  /// The contents of a file of at most `limit` bytes; nil when there is none.
  /// - Throws: `SystemError`; `EFBIG` for a longer one.
  public static func read(_ path: String, limit: Int = 64 << 20) throws(SystemError) -> [UInt8]? {
    do throws(SystemError) { return try contents(of: path, limit: limit) } catch {
      if error.code == ENOENT { return nil }
      throw error
    }
  }

  /// The contents of a file of at most `limit` bytes.
  /// - Throws: `SystemError`; `ENOENT` when there is none, `EFBIG` for a longer one.
  public static func contents(of path: String, limit: Int = 64 << 20) throws(SystemError) -> [UInt8] {
    let file = try RandomAccessFile(path: path, access: .readOnly)
    var bytes: [UInt8] = []
    // Files of /proc and pipes do not know their size.
    while bytes.count <= limit {
      let chunk = try file.read(count: min(limit + 1 - bytes.count, 1 << 16), at: Int64(bytes.count))
      if chunk.isEmpty { return bytes }
      bytes += chunk
    }
    throw SystemError(operation: "read", object: path, code: EFBIG)
  }

  /// When the file was last written, in nanoseconds since 1970; nil when that cannot be told.
  public static func modificationTime(of path: String) -> Int64? {
    var status = stat()
    guard unsafe stat(path, &status) == 0 else { return nil }
    return Int64(status.st_mtim.tv_sec) * 1_000_000_000 + Int64(status.st_mtim.tv_nsec)
  }
}
