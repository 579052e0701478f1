internal import Glibc
internal import Platform
internal import Spatial

/// Recovery of a damaged store: it is renamed for inspection, and every readable record is transferred to a
/// new one (`Salvage`). Until that is complete, a file beside the store contains the name, so that an
/// interrupted transfer continues at the next start.
enum Recovery {
  /// Renames the store's files. Returns the new path.
  static func setAside(_ path: String) -> String {
    let base = "\(path).damaged-\(date(UTCTime.now.nanoseconds / 1_000_000_000))"
    var place = base
    var number = 2
    while unsafe access(place, F_OK) == 0 {
      place = "\(base)-\(number)"
      number += 1
    }
    begin(path, place)
    for suffix in ["", "-wal", "-shm"] { unsafe rename(path + suffix, place + suffix) }
    return place
  }

  /// Returns the damaged store whose salvage is not complete; nil if there is none.
  static func pending(_ path: String) -> String? {
    let descriptor = unsafe open(marker(path), O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var bytes = [UInt8](repeating: 0, count: 4096)
    let count = unsafe read(descriptor, &bytes, bytes.count)
    let place = String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
    guard place.hasPrefix(path), unsafe access(place, R_OK) == 0 else { return nil }
    return place
  }

  /// Deletes the file that names the damaged store, because its salvage is complete.
  static func finish(_ path: String) { unsafe unlink(marker(path)) }

  /// Stores the name of a damaged store until all of it is transferred.
  private static func begin(_ path: String, _ place: String) {
    let descriptor = unsafe open(marker(path), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NONBLOCK, 0o600)
    guard descriptor >= 0 else { return }
    defer { close(descriptor) }
    let bytes = Array(place.utf8)
    _ = unsafe write(descriptor, bytes, bytes.count)
    fsync(descriptor)
  }

  private static func marker(_ path: String) -> String { path + ".salvage" }

  /// Formats seconds since 1970 as `20261121T041500Z`.
  static func date(_ seconds: Int64) -> String {
    var time = time_t(seconds)
    var parts = unsafe tm()
    unsafe gmtime_r(&time, &parts)
    func two(_ value: Int32) -> String { value < 10 ? "0\(value)" : "\(value)" }
    let day = unsafe "\(parts.tm_year + 1900)\(two(parts.tm_mon + 1))\(two(parts.tm_mday))"
    return unsafe "\(day)T\(two(parts.tm_hour))\(two(parts.tm_min))\(two(parts.tm_sec))Z"
  }
}
