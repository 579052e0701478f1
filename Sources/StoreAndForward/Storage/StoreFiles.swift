internal import Glibc
internal import Platform

/// Exclusive access to a store. A second process would assign the same sequence numbers to other records.
///
/// The lock file protects the path, regardless of the file there; the lock of the database file itself
/// protects against hard links. Both use `flock(2)`, which SQLite does not use. The descriptor of the
/// database file must remain open as long as SQLite has the file open, because closing it releases SQLite's
/// own locks.
@safe final class StoreLock {
  private var descriptors: [Int32]

  private init(_ descriptor: Int32) { descriptors = [descriptor] }

  deinit { for descriptor in descriptors { close(descriptor) } }

  /// Acquires the lock. Returns nil if the lock file cannot be created; then no second store can be created
  /// there either.
  /// - Throws: `OperationError` if another process has the lock, or a file of the store is a FIFO, a socket or a
  ///   device.
  static func acquire(_ path: String) throws(OperationError) -> StoreLock? {
    for suffix in ["", "-wal", "-shm", ".lock", ".recent", ".reserve", ".salvage"]
    where FileKind.isSpecial(path + suffix) {
      throw OperationError(
        "outbox", operation: "open", object: path + suffix,
        cause: SystemError.message(for: SystemError.notAFile))
    }
    let descriptor = unsafe open(path + ".lock", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { return nil }
    let lock = StoreLock(descriptor)
    guard flock(descriptor, LOCK_EX | LOCK_NB) == 0, lock.lockFile(path) else {
      throw OperationError(
        "outbox", operation: "open", object: path,
        cause: "another process has it open; end that one, or give this one a store of its own")
    }
    return lock
  }

  /// Locks the database file at a path. Returns false if another process has it locked.
  private func lockFile(_ path: String) -> Bool {
    StoreFile.create(path)
    let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return true }
    descriptors.append(descriptor)
    return flock(descriptor, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK
  }
}

/// The database file. SQLite creates the write-ahead log with the same mode.
enum StoreFile {
  /// Creates an empty file if missing, readable by the agent's user only, because it contains positions;
  /// SQLite would make it readable for everyone. If this fails, SQLite reports the reason.
  static func create(_ path: String) {
    let descriptor = unsafe open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    if descriptor >= 0 { close(descriptor) }
  }
}

/// A file beside the store that reserves disk space for emergencies.
///
/// On a full disk even a deletion requires space in the write-ahead log. Without a reserve, acknowledged
/// records could never be deleted, and the disk would remain full.
struct SpaceReserve {
  /// Size in bytes, by which a checkpoint may enlarge the database: `wal_autocheckpoint` pages.
  static let bytes = Schema.checkpointPages * 4096

  private let path: String
  /// True if the reserve was allocated, so that it is allocated again after its release.
  private var isWanted = false

  init(store: String) { path = store + ".reserve" }

  /// Allocates the reserve if there is enough space.
  mutating func allocate() { isWanted = fill() }

  /// Allocates the reserve again if it was allocated at the start. Returns false if there is no longer enough
  /// space.
  func restore() -> Bool { !isWanted || fill() }

  private func fill() -> Bool {
    let descriptor = unsafe open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0o600)
    guard descriptor >= 0 else { return false }
    defer { close(descriptor) }
    if posix_fallocate(descriptor, 0, off_t(Self.bytes)) == 0 { return true }
    unsafe unlink(path)
    return false
  }

  /// Releases the reserved space.
  func release() { unsafe unlink(path) }
}
