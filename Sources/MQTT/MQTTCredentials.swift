internal import Glibc
package import Platform

/// The source of a password or key. Its value is never printed. Files are reread for every connection, so
/// renewed secrets require no restart.
public enum MQTTSecret: Hashable, Sendable, CustomStringConvertible {
  case value(String)
  /// Path of a file with the secret in its first line, such as a systemd credential.
  case file(String)

  public var description: String {
    switch self {
    case .value: "(secret)"
    case .file(let path): "(secret from \(path))"
    }
  }
}

/// TLS settings of a session. Files are reread for every connection. The certificate and its name are always
/// verified; there is no insecure mode.
public struct MQTTTLS: Hashable, Sendable {
  public enum Version: String, Hashable, Sendable {
    case tls12 = "tlsv1.2"
    case tls13 = "tlsv1.3"
  }

  /// The trusted authorities.
  public enum Trust: Hashable, Sendable {
    /// The certificate authorities of the operating system.
    case system
    /// The authorities in a PEM file.
    case file(String)
    /// The authorities in a directory prepared by `openssl rehash`.
    case directory(String)
    /// A pre-shared key (hexadecimal digits) and its identity, without certificates.
    case preSharedKey(identity: String, key: MQTTSecret)
  }

  /// The client's certificate chain and private key in PEM files.
  public struct Identity: Hashable, Sendable {
    public var certificateFile: String
    public var keyFile: String

    public init(certificateFile: String, keyFile: String) {
      self.certificateFile = certificateFile
      self.keyFile = keyFile
    }
  }

  public var trust: Trust
  public var identity: Identity?
  /// The requested application protocol, at most 254 bytes, as in `x-amzn-mqtt-ca` or `mqtt`.
  public var alpn: String?
  public var minimumVersion: Version = .tls12

  public init(trust: Trust = .system, identity: Identity? = nil) {
    self.trust = trust
    self.identity = identity
  }
}

extension MQTTSecret {
  /// Returns the secret; of a file the first line, without the line break.
  package func read() throws(OperationError) -> String {
    switch self {
    case .value(let text): return text
    case .file(let path):
      let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
      guard descriptor >= 0 else {
        throw OperationError(
          "MQTT", operation: "read secret", object: path, cause: SystemError.message(for: errno))
      }
      defer { close(descriptor) }
      var bytes = [UInt8](repeating: 0, count: 4096)
      let count = unsafe Glibc.read(descriptor, &bytes, bytes.count)
      guard count > 0 else {
        throw OperationError(
          "MQTT", operation: "read secret", object: path, cause: "the file is empty or unreadable")
      }
      return String(decoding: bytes.prefix(count).prefix { $0 != 0x0A && $0 != 0x0D }, as: UTF8.self)
    }
  }
}

/// Detects that files used by a connection were replaced. A change counts after two consecutive checks with
/// equal results, because files are not always replaced in one step.
struct CredentialWatch {
  /// Attributes that change when a file is replaced.
  struct Stamp: Equatable {
    var inode: UInt64
    var size: Int64
    var seconds: Int64
    var nanoseconds: Int64
  }

  private var used: [Stamp?]
  private var pending: [Stamp?]?

  /// - Parameter stamps: stamps of the files at the time they were read.
  init(_ stamps: [Stamp?]) { used = stamps }

  /// Returns whether the files have changed and are stable.
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

  /// Returns the stamps of files; nil for files that cannot be read.
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
  /// The files that a connection uses.
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
