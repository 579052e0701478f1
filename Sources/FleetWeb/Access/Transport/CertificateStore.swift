package import Fleet
package import FleetConsole
internal import NIOSSL
internal import Platform

/// The server's certificate and key, read again when their files change: connections that stand go on with what they began
/// with, new ones get the new.
package final class CertificateStore: Sendable {
  private struct State {
    var context: NIOSSLContext
    var times: [Int64?]
  }

  static let keys = ["certificate", "key"]

  package let certificateFile: String
  package let keyFile: String
  private let state: Locked<State>

  /// Of the configuration's table `tls`; nil where it is missing.
  /// - Throws: `FleetError` for a table that is incomplete, and for files that are no pair of certificate and key.
  package static func configured(in file: SettingsFile) throws(FleetError) -> CertificateStore? {
    let table = try file.table("tls", keys: keys)
    guard !table.isEmpty else { return nil }
    guard let certificate = try table.file("certificate") else {
      throw table.wrong("certificate", "it is missing")
    }
    guard let key = try table.file("key") else { throw table.wrong("key", "it is missing") }
    return try CertificateStore(certificateFile: certificate, keyFile: key)
  }

  /// - Parameters:
  ///   - certificateFile: PEM, the server's own certificate first, then those of the authorities between.
  ///   - keyFile: PEM, without a password.
  /// - Throws: `FleetError` for files that are no pair of certificate and key.
  package init(certificateFile: String, keyFile: String) throws(FleetError) {
    (self.certificateFile, self.keyFile) = (certificateFile, keyFile)
    let times = Self.times(certificateFile, keyFile)
    state = Locked(State(context: try Self.read(certificateFile, keyFile), times: times))
  }

  var context: NIOSSLContext { state.withLock { $0.context } }

  /// Reads the files again, whether they have changed or not. What was read before stays when they cannot be used.
  /// - Throws: `FleetError` for files that are no pair of certificate and key.
  package func reload() throws(FleetError) {
    // Before reading: what is written meanwhile is then seen as a further change.
    let times = Self.times(certificateFile, keyFile)
    do throws(FleetError) {
      let context = try Self.read(certificateFile, keyFile)
      state.withLock { $0 = State(context: context, times: times) }
    } catch {
      // Tried again only when something changes: a pair is written one file after the other.
      state.withLock { $0.times = times }
      throw error
    }
  }

  /// Reads them again if one was written since.
  /// - Returns: whether that was done.
  /// - Throws: `FleetError` as `reload`.
  package func reloadIfChanged() throws(FleetError) -> Bool {
    let times = Self.times(certificateFile, keyFile)
    guard state.withLock({ $0.times != times }) else { return false }
    try reload()
    return true
  }

  private static func times(_ files: String...) -> [Int64?] {
    files.map { AtomicFile.modificationTime(of: $0) }
  }

  private static func read(_ certificateFile: String, _ keyFile: String) throws(FleetError) -> NIOSSLContext {
    func wrong(_ file: String, _ error: any Error, _ remedy: String) -> FleetError {
      .usage("use", file, "\(error); \(remedy)")
    }
    let certificates: [NIOSSLCertificate]
    do { certificates = try NIOSSLCertificate.fromPEMFile(certificateFile) } catch {
      throw wrong(certificateFile, error, "certificate in [tls] is a readable PEM file")
    }
    let key: NIOSSLPrivateKey
    do { key = try NIOSSLPrivateKey(file: keyFile, format: .pem) } catch {
      throw wrong(keyFile, error, "key in [tls] is a readable PEM file without a password")
    }
    var configuration = TLSConfiguration.makeServerConfiguration(
      certificateChain: certificates.map { .certificate($0) }, privateKey: .privateKey(key))
    configuration.minimumTLSVersion = .tlsv12
    configuration.applicationProtocols = ["http/1.1"]
    do { return try NIOSSLContext(configuration: configuration) } catch {
      throw wrong(keyFile, error, "key in [tls] is that of the certificate \(certificateFile)")
    }
  }
}
