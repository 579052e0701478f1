internal import Glibc

/// Notices that the files a connection was made with were replaced. A change counts only once two looks in a
/// row saw the same, because files are not always replaced in one step.
struct CredentialWatch {
  /// What tells a file from its successor.
  struct Stamp: Equatable {
    var inode: UInt64
    var size: Int64
    var seconds: Int64
    var nanoseconds: Int64
  }

  private var used: [Stamp?]
  private var pending: [Stamp?]?

  /// - Parameter stamps: of the files at the time they were read.
  init(_ stamps: [Stamp?]) { used = stamps }

  /// Whether the files are others now, and have come to rest.
  mutating func isRenewed(_ stamps: [Stamp?]) -> Bool {
    guard stamps != used, !stamps.contains(nil) else {
      pending = nil
      return false
    }
    if stamps == pending {
      used = stamps
      pending = nil
      return true
    }
    pending = stamps
    return false
  }

  /// Looks at the files; nil stands for one that cannot be seen.
  static func stamps(of paths: [String]) -> [Stamp?] {
    paths.map { path in
      var status = stat()
      guard unsafe stat(path, &status) == 0 else { return nil }
      return Stamp(
        inode: UInt64(status.st_ino), size: Int64(status.st_size), seconds: Int64(status.st_mtim.tv_sec),
        nanoseconds: Int64(status.st_mtim.tv_nsec))
    }
  }
}

extension MQTTConfiguration {
  /// The files that a connection is made with.
  var credentialFiles: [String] {
    var files: [String] = []
    if case .file(let path)? = password { files.append(path) }
    guard let tls else { return files }
    switch tls.trust {
    case .file(let path): files.append(path)
    case .preSharedKey(_, .file(let path)): files.append(path)
    case .system, .directory, .preSharedKey: break
    }
    if let identity = tls.identity { files += [identity.certificateFile, identity.keyFile] }
    return files
  }
}
