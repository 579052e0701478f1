internal import Foundation

/// A service at `/v1/geolocate` on a loopback port, good and hostile (Tests/Geolocate); it ends with the object.
public final class GeolocateFixture: Sendable {
  private let directory: TemporaryDirectory
  private let server: ChildProcess
  public let port: String

  /// - Parameter certificate: for TLS.
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

  /// What was asked, oldest first: each a line of JSON.
  public func requests() throws -> [String] {
    try String(contentsOfFile: directory.file("log"), encoding: .utf8).split(separator: "\n").map(String.init)
  }
}
