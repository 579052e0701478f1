internal import Glibc

/// A file beside the store that keeps some of the disk for the worst moment.
///
/// On a full disk even a deletion needs room, in the write-ahead log: without a reserve, acknowledged records
/// could never leave, and the disk would stay full for ever.
struct SpaceReserve {
  /// As much as a checkpoint may add to the database: `wal_autocheckpoint` pages.
  static let bytes = Schema.checkpointPages * 4096

  private let path: String

  init(store: String) { path = store + ".reserve" }

  /// Takes the room. Returns false when there is not enough.
  func take() -> Bool {
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
