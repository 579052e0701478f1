internal import Glibc

/// Small files that are replaced as a whole: a reader, also after a loss of power, finds the old contents or the new ones,
/// never a mixture.
public enum AtomicFile {
  /// Writes a file beside the old one, makes it safe on the disk and renames it into its place.
  /// - Throws: `SystemError` naming what failed; the old file is then untouched.
  public static func write(_ bytes: [UInt8], to path: String) throws(SystemError) {
    let temporary = path + ".new"
    do throws(SystemError) {
      try fill(temporary, with: bytes)
      try move(temporary, to: path)
    } catch {
      unsafe unlink(temporary)
      throw error
    }
  }

  private static func fill(_ path: String, with bytes: [UInt8]) throws(SystemError) {
    let file = try RandomAccessFile(path: path, access: .readWrite)
    try file.truncate(to: 0)
    try file.write(bytes, at: 0)
    try file.synchronize()
  }

  /// Gives a file another name, in the place of one that has it already, so that a loss of power does not undo it.
  public static func move(_ path: String, to newPath: String) throws(SystemError) {
    guard unsafe rename(path, newPath) == 0 else {
      throw SystemError(operation: "rename", object: path, code: errno)
    }
    // The name itself is safe when its folder is.
    let folder = newPath.lastIndex(of: "/").map { String(newPath[...$0]) } ?? "."
    let descriptor = unsafe open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { throw SystemError(operation: "open", object: folder, code: errno) }
    defer { close(descriptor) }
    guard fsync(descriptor) == 0 else {
      throw SystemError(operation: "synchronize", object: folder, code: errno)
    }
  }

  /// The contents of a file of at most `limit` bytes; nil when there is none.
  /// - Throws: `SystemError`; `EFBIG` for a longer one.
  public static func read(_ path: String, limit: Int) throws(SystemError) -> [UInt8]? {
    let file: RandomAccessFile
    do throws(SystemError) {
      file = try RandomAccessFile(path: path, access: .readOnly)
    } catch {
      guard error.code != ENOENT else { return nil }
      throw error
    }
    let bytes = try file.read(count: limit + 1, at: 0)
    guard bytes.count <= limit else { throw SystemError(operation: "read", object: path, code: EFBIG) }
    return bytes
  }
}
