import Fleet
import FleetProgram
import FleetWeb
import Hummingbird
import HummingbirdCore
import JSON
import Logging
import NIOCore
import ServiceLifecycle
import TestSupport

/// A server with the gate and some routes, on a free port of this machine.
struct AccessFixture: Sendable {
  let port: Int
  let control: AccessControl

  static let password = "correct horse battery"
  /// Hash of `password` with yescrypt's lowest cost, which makes tests fast. Created by libcrypt with cost 1.
  static let hash = "$y$j75$k2XAnEHBqQ1Ct2aMXFKNa/$D51GutEaDStaXNx6KNVHl2qcn8n8Q9TT3VpvxytddG1"
  static let viewToken = String(repeating: "v", count: 32)
  static let operateToken = String(repeating: "o", count: 32)

  /// Users ann (operates delivery) and bob (views taxi), and tokens with the same rights.
  static func settings(_ more: String = "") -> String {
    """
    [users.ann]
    password = "\(hash)"
    role = "operate"
    fleets = ["delivery"]
    [users.bob]
    password = "\(hash)"
    fleets = ["taxi"]
    [tokens.robot]
    sha256 = "\(SecretDigest(of: operateToken).hexadecimal)"
    role = "operate"
    fleets = ["delivery"]
    [tokens.screen]
    sha256 = "\(SecretDigest(of: viewToken).hexadecimal)"
    \(more)
    """
  }

  static func configuration(_ text: String) throws -> AccessConfiguration {
    try AccessConfiguration(SettingsFile(text: text, path: "serve.toml"))
  }

  /// Runs a server while `body` sends requests.
  static func run(
    _ configuration: AccessConfiguration, limits: ConnectionLimits = ConnectionLimits(),
    certificates: CertificateStore? = nil, subjects: [any RouteGroup] = [],
    report: @escaping @Sendable (String) -> Void = { _ in },
    _ body: @Sendable @escaping (AccessFixture) async throws -> Void
  ) async throws {
    let control = try AccessControl(configuration, isAuditSaid: false, report: report)
    defer { control.stop() }
    let access = ControlledAccess(control: control, certificates: certificates)
    let server = WebServer(subjects: subjects, roots: [SomeRoots()], access: access)
    try await serve(server.router(), access.connections(limits), control, body)
  }

  /// Serves a router while `body` sends requests.
  static func serve(
    _ router: Router<WebContext>, _ builder: HTTPServerBuilder, _ control: AccessControl,
    _ body: @Sendable @escaping (AccessFixture) async throws -> Void
  ) async throws {
    let (ports, found) = AsyncStream<Int>.makeStream()
    var logger = Logger(label: "test")
    logger.logLevel = .critical
    let application = Application(
      router: router,
      server: builder,
      configuration: .init(address: .hostname("127.0.0.1", port: 0), serverName: nil),
      onServerRunning: { found.yield($0.localAddress?.port ?? 0) }, logger: logger)
    let group = ServiceGroup(configuration: .init(services: [application], logger: logger))
    let run = Task { try await group.run() }
    for await port in ports {
      do {
        try await body(AccessFixture(port: port, control: control))
      } catch {
        run.cancel()
        throw error
      }
      break
    }
    run.cancel()
    _ = try? await run.value
  }

  func ask(
    _ method: String, _ path: String, _ headers: [String] = [], body: String? = nil,
    host: String = "127.0.0.1"
  ) throws -> RawClient.Answer {
    try RawClient(port: port).ask(method, path, headers, body: body, host: host)
  }

  func logIn(_ name: String, _ password: String = Self.password, _ headers: [String] = []) throws
    -> RawClient.Answer
  {
    try ask(
      "POST", "/api/v1/session", ["Content-Type: application/json"] + headers,
      body: "{\"name\":\"\(name)\",\"password\":\"\(password)\"}")
  }
}

/// Access policy with a control from the test; `odograph serve` creates its own from a file.
private struct ControlledAccess: AccessPolicy {
  let control: AccessControl
  let certificates: CertificateStore?

  var requiresLogin: Bool { control.configuration.hasLogin }
  var isSecure: Bool { certificates != nil }
  var gate: any MiddlewareProtocol<Request, Response, WebContext> { Gate(control, isEncrypted: isSecure) }
  var interface: [any RouteGroup] { [SessionRoutes(control), ShareRoutes(control)] }
  var roots: [any RouteGroup] { [LinkEntrance(control)] }

  func connections(_ limits: ConnectionLimits) -> HTTPServerBuilder {
    GuardedTransport.builder(certificates: certificates, control: control, limits: limits)
  }
}

/// Routes outside of the interface.
private struct SomeRoots: RouteGroup {
  func add(to router: RouterGroup<WebContext>) {
    router.get("metrics") { _, _ in "figures" }
    router.get("health/live") { _, _ in "alive" }
  }
}

/// Sample routes: a vehicle to view and to change.
struct SomeRoutes: RouteGroup {
  static let known = VehicleKey(fleet: "delivery", vehicle: "van-1")

  func add(to router: RouterGroup<WebContext>) {
    router.get("vehicles") { _, context in
      try context.requirePrincipal().sees(Self.known) ? "[\"\(Self.known)\"]" : "[]"
    }
    router.get("vehicles/{fleet}/{vehicle}") { _, context in
      let key = try context.requireVehicle()
      guard key == Self.known else { throw WebError.notFound("vehicle \(key)") }
      return "{\"vehicle\":\"\(key)\"}"
    }
    router.get("vehicles/{fleet}/{vehicle}/track") { _, context in
      "{\"vehicle\":\"\(try context.requireVehicle())\"}"
    }
    router.post("vehicles/{fleet}/{vehicle}/commands") { request, context in
      let key = try context.requireVehicleToOperate()
      context.note(detail: "locate")
      return "{\"done\":\"\(key)\"}"
    }
    router.post("echo") { request, _ in
      var request = request
      return try await request.collectBody(upTo: 16 << 20)
    }
    router.get("much") { _, _ in
      Response(
        status: .ok,
        body: .init { writer in
          let piece = ByteBuffer(repeating: 0x61, count: 1 << 16)
          for _ in 0..<1600 { try await writer.write(piece) }
          try await writer.finish(nil)
        })
    }
    router.get("stream") { _, context in
      let grant = context.grant
      return Response(
        status: .ok,
        body: .init { writer in
          while true {
            if let reason = grant?.ending() {
              try await writer.write(ByteBuffer(string: "event: bye\ndata: \(reason)\n\n"))
              break
            }
            try await writer.write(ByteBuffer(string: ": here\n\n"))
            try await Task.sleep(for: .milliseconds(20))
          }
          try await writer.finish(nil)
        })
    }
  }
}
