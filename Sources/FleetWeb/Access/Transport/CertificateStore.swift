package import Fleet
package import FleetProgram
internal import NIOSSL
internal import Platform
internal import Spatial

/// The server's certificate and key, reloaded when their files change. Open connections continue with the old
/// certificate, new ones use the new one.
package final class CertificateStore: Sendable {
  private struct State {
    var context: NIOSSLContext
    var times: [UTCTime?]
  }

  static let keys = ["certificate", "key"]

  package let certificateFile: String
  package let keyFile: String
  private let state: Locked<State>

  /// Creates the store from the configuration's table `tls`; nil if it is missing.
  /// - Throws: `FleetError` for an incomplete table, and for files that are not a certificate with its key.
  package static func configured(in file: SettingsFile) throws(FleetError) -> CertificateStore? {
    let table = try file.table("tls", keys: keys)
    guard !table.isEmpty else { return nil }
    guard let certificate = try table.file("certificate") else {
      throw table.wrong("certificate", "it is missing")
    }
    guard let key = try table.file("key") else { throw table.wrong("key", "it is missing") }
    return try CertificateStore(certificateFile: certificate, keyFile: key)
  }

  /// Creates a store.
  ///
  /// - Parameters:
  ///   - certificateFile: PEM: the server's certificate, then the intermediate certificates.
  ///   - keyFile: PEM without a password.
  /// - Throws: `FleetError` for files that are not a certificate with its key.
  package init(certificateFile: String, keyFile: String) throws(FleetError) {
    (self.certificateFile, self.keyFile) = (certificateFile, keyFile)
    let times = Self.times(certificateFile, keyFile)
    state = Locked(State(context: try Self.read(certificateFile, keyFile), times: times))
  }

  var context: NIOSSLContext { state.withLock { $0.context } }

  /// Reloads the files. Retains the previous certificate if they are invalid.
  /// - Throws: `FleetError` for files that are not a certificate with its key.
  package func reload() throws(FleetError) {
    // The modification times are read before the contents, so that a concurrent write counts as a further
    // change.
    let times = Self.times(certificateFile, keyFile)
    do throws(FleetError) {
      let context = try Self.read(certificateFile, keyFile)
      state.withLock { $0 = State(context: context, times: times) }
    } catch {
      // The files are read again only after a further change. Certificate and key are written one after the
      // other, so the second write is such a change.
      state.withLock { $0.times = times }
      throw error
    }
  }

  /// Reloads the files if one of them has changed.
  /// - Returns: true if they were reloaded.
  /// - Throws: `FleetError` as `reload`.
  package func reloadIfChanged() throws(FleetError) -> Bool {
    let times = Self.times(certificateFile, keyFile)
    guard state.withLock({ $0.times != times }) else { return false }
    try reload()
    return true
  }

  private static func times(_ files: String...) -> [UTCTime?] {
    files.map { AtomicFile.modificationTime(of: $0) }
  }

  private static func read(_ certificateFile: String, _ keyFile: String) throws(FleetError) -> NIOSSLContext {
    func wrong(_ file: String, _ error: any Error, _ remedy: String) -> FleetError {
      .usage("use", file, "\(error); \(remedy)")
    }
    let certificates: [NIOSSLCertificate]
    do { certificates = try NIOSSLCertificate.fromPEMFile(certificateFile) } catch {
      throw wrong(certificateFile, error, "certificate in [tls] must be a readable PEM file")
    }
    let key: NIOSSLPrivateKey
    do { key = try NIOSSLPrivateKey(file: keyFile, format: .pem) } catch {
      throw wrong(keyFile, error, "key in [tls] must be a readable PEM file without a password")
    }
    var configuration = TLSConfiguration.makeServerConfiguration(
      certificateChain: certificates.map { .certificate($0) }, privateKey: .privateKey(key))
    configuration.minimumTLSVersion = .tlsv12
    configuration.applicationProtocols = ["http/1.1"]
    do { return try NIOSSLContext(configuration: configuration) } catch {
      throw wrong(keyFile, error, "key in [tls] must be the key of the certificate \(certificateFile)")
    }
  }
}
