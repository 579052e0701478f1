internal import Glibc
internal import Platform

/// Keeps a second process from the same store, which would give the same numbers to other records.
@safe final class StoreLock {
  private let descriptor: Int32

  private init(_ descriptor: Int32) { self.descriptor = descriptor }

  deinit { close(descriptor) }

  /// nil when there is no place for a lock file, and so none for a second store either.
  /// - Throws: `OutboxError` when another process holds it.
  static func acquire(_ path: String) throws(OutboxError) -> StoreLock? {
    let descriptor = unsafe open(path + ".lock", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { return nil }
    guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
      close(descriptor)
      throw OutboxError(
        operation: "open", object: path,
        cause: "another process has it open; end that one, or give this one a store of its own")
    }
    return StoreLock(descriptor)
  }
}

/// The database file, and with it the write-ahead log, which SQLite gives the same mode.
enum StoreFile {
  /// Makes an empty one where there is none: positions are for the agent's user alone, and SQLite would let everybody read them.
  /// Where that fails, SQLite says why.
  static func create(_ path: String) {
    let descriptor = unsafe open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    if descriptor >= 0 { close(descriptor) }
  }
}

/// A file beside the store that keeps some of the disk for the worst moment.
///
/// On a full disk even a deletion needs room, in the write-ahead log: without a reserve, acknowledged records
/// could never leave, and the disk would stay full for ever.
struct SpaceReserve {
  /// As much as a checkpoint may add to the database: `wal_autocheckpoint` pages.
  static let bytes = Schema.checkpointPages * 4096

  private let path: String
  /// False where there never was room for it.
  private var isWanted = false

  init(store: String) { path = store + ".reserve" }

  /// Allocates the room where there is enough.
  mutating func allocate() { isWanted = fill() }

  /// Allocates the room again. Returns false when there was enough once and is not now.
  func restore() -> Bool { !isWanted || fill() }

  private func fill() -> Bool {
    let descriptor = unsafe open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { return false }
    defer { close(descriptor) }
    if posix_fallocate(descriptor, 0, off_t(Self.bytes)) == 0 { return true }
    unsafe unlink(path)
    return false
  }

  /// Gives the room to whoever needs it.
  func release() { unsafe unlink(path) }
}
