internal import CLinux
internal import Glibc
public import Platform

/// A small tmpfs that can be filled completely or made read-only. Mounting requires privileges: `.needs(.mounting)`.
public final class SmallFileSystem: Sendable {
  public let path: String
  private let directory: TemporaryDirectory
  private let size: String

  /// - Parameter size: mount option, such as "4m".
  public init(size: String) throws {
    directory = try TemporaryDirectory()
    self.size = size
    path = directory.file("disk")
    mkdir(path, 0o700)
    try mount(0, "mount")
  }

  deinit { umount2(path, Int32(MNT_DETACH)) }

  /// Makes the file system read-only or writable.
  public func setReadOnly(_ isReadOnly: Bool) throws(SystemError) {
    try mount(UInt(MS_REMOUNT) | (isReadOnly ? UInt(MS_RDONLY) : 0), "remount")
  }

  /// Returns the path of a file in the file system.
  public func file(_ name: String) -> String { "\(path)/\(name)" }

  private func mount(_ flags: UInt, _ operation: String) throws(SystemError) {
    guard unsafe Glibc.mount("tmpfs", path, "tmpfs", flags, "size=\(size)") == 0 else {
      throw SystemError(operation: operation, object: "tmpfs at \(path)", code: errno)
    }
  }
}
