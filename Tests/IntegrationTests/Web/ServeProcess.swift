import Foundation
import FoundationNetworking
import Platform
import TestSupport

/// A running `odograph serve`.
struct ServeProcess {
  let child: ChildProcess
  let port: Int

  /// Starts it and waits until it accepts connections.
  init(_ broker: BrokerFixture, _ arguments: [String] = []) throws {
    port = try FreePort.next()
    child = try ChildProcess(
      BuiltProduct.path("odograph"),
      ["serve", "--broker", "mqtt://127.0.0.1:\(broker.port)", "--listen", "127.0.0.1:\(port)"] + arguments)
    let (child, port) = (child, port)
    waitUntil { FreePort.isAccepting(port) || !child.isRunning }
  }

  struct Answer {
    var status: Int
    var type: String?
    var bytes: Data

    var json: [String: Any] { (try? JSONSerialization.jsonObject(with: bytes)) as? [String: Any] ?? [:] }
    var text: String { String(decoding: bytes, as: UTF8.self) }
    func list(_ name: String) -> [[String: Any]] { json[name] as? [[String: Any]] ?? [] }
  }

  func ask(
    _ method: String, _ path: String, _ body: String? = nil, type: String = "application/json"
  ) async throws -> Answer {
    guard let url = URL(string: "http://127.0.0.1:\(port)\(path)") else {
      throw SystemError(operation: "ask", object: path, code: EINVAL)
    }
    var request = URLRequest(url: url, timeoutInterval: 60)
    request.httpMethod = method
    if let body {
      request.httpBody = Data(body.utf8)
      request.setValue(type, forHTTPHeaderField: "Content-Type")
    }
    let (bytes, response) = try await URLSession.shared.data(for: request)
    let http = response as? HTTPURLResponse
    return Answer(
      status: http?.statusCode ?? 0, type: http?.value(forHTTPHeaderField: "Content-Type"), bytes: bytes)
  }

  func get(_ path: String) async throws -> Answer { try await ask("GET", path) }
}
