internal import Glibc
internal import Platform

/// The exclusive use of a store. A second process would give the same sequence numbers to other records.
///
/// The lock file stands for the path, whichever file is there; the lock of the database file itself refuses a hard link of it. Both
/// use `flock(2)`, which SQLite does not use. The descriptor of the database file must stay open as long as SQLite has the file
/// open: closing it releases SQLite's own locks.
@safe final class StoreLock {
  private var descriptors: [Int32]

  private init(_ descriptor: Int32) { descriptors = [descriptor] }

  deinit { for descriptor in descriptors { close(descriptor) } }

  /// Returns nil if the lock file cannot be created; then no second store can be there either.
  /// - Throws: `OutboxError` if another process has the lock, or a file of the store is a FIFO, a socket or a device.
  static func acquire(_ path: String) throws(OutboxError) -> StoreLock? {
    for suffix in ["", "-wal", "-shm", ".lock", ".recent", ".reserve", ".salvage"]
    where FileKind.isSpecial(path + suffix) {
      throw OutboxError(
        operation: "open", object: path + suffix, cause: SystemError.message(for: SystemError.notAFile))
    }
    let descriptor = unsafe open(path + ".lock", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { return nil }
    let lock = StoreLock(descriptor)
    guard flock(descriptor, LOCK_EX | LOCK_NB) == 0, lock.lockFile(path) else {
      throw OutboxError(
        operation: "open", object: path,
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
    let descriptor = unsafe open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0o600)
    guard descriptor >= 0 else { return false }
    defer { close(descriptor) }
    if posix_fallocate(descriptor, 0, off_t(Self.bytes)) == 0 { return true }
    unsafe unlink(path)
    return false
  }

  /// Gives the room to whoever needs it.
  func release() { unsafe unlink(path) }
}
