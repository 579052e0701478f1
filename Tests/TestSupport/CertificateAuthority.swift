/// A certificate authority for one test, created with the `openssl` program.
public final class CertificateAuthority: Sendable {
  /// Validity period of a certificate.
  public enum Validity: Sendable {
    case now, expired, notYet
  }

  public let directory: TemporaryDirectory
  /// The path of the authority's own certificate, PEM.
  public var certificateFile: String { directory.file("ca.crt") }

  public init(_ name: String = "Test Authority") throws {
    directory = try TemporaryDirectory()
    try directory.write(
      "ca.conf",
      """
      [ca]
      default_ca = authority
      [authority]
      dir = \(directory.path)
      database = $dir/index.txt
      new_certs_dir = $dir
      serial = $dir/serial
      certificate = $dir/ca.crt
      private_key = $dir/ca.key
      default_md = sha256
      policy = anything
      unique_subject = no
      copy_extensions = copy
      rand_serial = yes
      [anything]
      commonName = supplied

      """)
    try directory.write("index.txt", "")
    try openssl([
      "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "30",
      "-subj",
      "/CN=\(name)", "-keyout", directory.file("ca.key"), "-out", certificateFile,
    ])
  }

  /// Issues a certificate and its private key.
  /// - Parameters:
  ///   - name: base name of the files, and the common name if `commonName` is nil.
  ///   - commonName: the subject's common name.
  ///   - alternativeName: subject alternative names, such as `IP:127.0.0.1` or `DNS:broker.example`.
  public func issue(
    _ name: String, commonName: String? = nil, alternativeName: String = "IP:127.0.0.1,DNS:localhost",
    validity: Validity = .now
  ) throws -> (certificateFile: String, keyFile: String) {
    let (key, request, certificate) = (
      directory.file("\(name).key"), directory.file("\(name).csr"), directory.file("\(name).crt")
    )
    let subject = (commonName ?? name).split(separator: "/", omittingEmptySubsequences: false)
      .joined(separator: "\\/")
    try openssl([
      "req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj",
      "/CN=\(subject)",
      "-addext", "subjectAltName=\(alternativeName)", "-keyout", key, "-out", request,
    ])
    let dates =
      switch validity {
      case .now: ["-startdate", "20250101000000Z", "-enddate", "20500101000000Z"]
      case .expired: ["-startdate", "20240101000000Z", "-enddate", "20240201000000Z"]
      case .notYet: ["-startdate", "20490101000000Z", "-enddate", "20500101000000Z"]
      }
    try openssl(
      ["ca", "-batch", "-config", directory.file("ca.conf"), "-notext", "-in", request, "-out", certificate]
        + dates)
    return (certificate, key)
  }

  private func openssl(_ arguments: [String]) throws {
    let process = try ChildProcess("openssl", arguments)
    let status = process.waitForExit()
    guard status == 0 else {
      throw CommandFailure(command: "openssl " + arguments.joined(separator: " "), output: process.output)
    }
  }
}

/// A program required by a fixture exited with an error.
public struct CommandFailure: Error, CustomStringConvertible {
  public var command: String
  public var output: String

  public var description: String { "\(command) failed:\n\(output)" }
}
