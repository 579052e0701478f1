internal import Foundation

/// A server for `/v1/geolocate` on a loopback port with valid and hostile responses (Tests/Geolocate). It is stopped when the object is
/// released.
public final class GeolocateFixture: Sendable {
  private let directory: TemporaryDirectory
  private let server: ChildProcess
  public let port: String

  /// - Parameter certificate: paths of certificate and key; enables TLS.
  public init(certificate: (certificateFile: String, keyFile: String)? = nil) throws {
    directory = try TemporaryDirectory()
    let server = try ChildProcess(
      ContractScript.python,
      ["\(ContractScript.repository)/Tests/Geolocate/geolocate.py", directory.file("log")]
        + (certificate.map { [$0.certificateFile, $0.keyFile] } ?? []))
    self.server = server
    guard waitUntil({ server.output.hasSuffix("\n") || !server.isRunning }),
      let port = server.output.split(whereSeparator: \.isWhitespace).dropFirst().first
    else { throw CommandFailure(command: "geolocate.py", output: server.output) }
    self.port = String(port)
  }

  public func url(_ scene: String) -> String { "http://127.0.0.1:\(port)/\(scene)/v1/geolocate" }

  /// Returns the received requests, oldest first, one line of JSON each.
  public func requests() throws -> [String] {
    try String(contentsOfFile: directory.file("log"), encoding: .utf8).split(separator: "\n").map(String.init)
  }
}
