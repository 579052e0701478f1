import Fleet
import Foundation
import HTTPTypes
import Hummingbird
import JSON
import MQTT
import TestSupport
import Testing

@testable import FleetWeb

/// Compares the document with the server's routes in both directions.
@Suite struct OpenAPITests {
  private func document() throws -> JSONValue {
    let path = "\(ContractScript.repository)/Sources/CFleetPage/page/openapi.json"
    return try JSONValue(parsing: Array(Data(contentsOf: URL(fileURLWithPath: path))))
  }

  private func context(_ selection: FleetSelection) throws -> ServeContext {
    ServeContext(
      configuration: try ServeConfiguration(.init()),
      broker: .consumer(of: BrokerAddress(host: "127.0.0.1", port: 1)), selection: selection)
  }

  /// Returns the server's routes without the page's files, as in `GET /api/v1/vehicles`.
  private func routes() throws -> Set<String> {
    let context = try context(FleetSelection())
    var parts = try ServeParts(context)
    let feed = FleetFeed(Roster(), observers: parts.observers)
    let fleet = LiveFleet(feed)
    _ = try parts.add(fleet, context)
    let hub = StreamHub(fleet, sources: parts.sources, limits: context.configuration.streams)
    let server = WebServer(
      subjects: [LiveRoutes(fleet), StreamRoutes(hub), StatisticsRoutes(hub)] + parts.subjects,
      roots: [HealthRoutes(feed)] + parts.roots, access: LoopbackAccess())
    let files = Set(server.files.names.filter { $0 != "openapi.json" }.map { "/" + $0 } + ["/"])
    return Set(
      server.router().routes.compactMap { route in
        var path = route.path.description
        if !path.hasPrefix("/") { path = "/" + path }
        guard !files.contains(path), !path.contains("vendor/"), route.method != .head else { return nil }
        return "\(route.method.rawValue) \(path)"
      })
  }

  /// Vehicles of other profiles than the native one cannot be managed, so the page offers no control.
  @Test(arguments: [(MessageProfile.native, true), (.ownTracks, false)])
  func reportsWhetherVehiclesCanBeManaged(profile: MessageProfile, isManaging: Bool) throws {
    let context = try context(FleetSelection(profile: profile))
    var parts = try ServeParts(context)
    let abilities = try #require(parts.sources.first { $0.event == "server" })
    let told = try JSONValue(parsing: try #require(abilities.json(for: .local)))
    #expect(told["control"]?.bool == isManaging && told["recording"]?.bool == false)
    _ = try parts.add(LiveFleet(FleetFeed(Roster(), observers: parts.observers)), context)
    #expect(parts.subjects.contains { $0 is CommandRoutes } == isManaging)
  }

  private func operations() throws -> [String: JSONValue] {
    guard case .object(let paths)? = try document()["paths"] else { return [:] }
    var operations: [String: JSONValue] = [:]
    for (path, item) in paths {
      guard case .object(let methods) = item else { continue }
      for (method, operation) in methods { operations["\(method.uppercased()) \(path)"] = operation }
    }
    return operations
  }

  @Test func everyRouteIsInTheDocument() throws {
    let missing = try routes().subtracting(operations().keys)
    #expect(missing.isEmpty, "\(missing.sorted())")
  }

  /// Routes that exist only with a recording, a login or alert rules are in the document, too.
  @Test func everyOperationIsARoute() throws {
    let optional: Set = ["history", "access", "alerts"]
    let routes = try routes()
    for (name, operation) in try operations() where !routes.contains(name) {
      let tag = operation["tags"]?.array?.first?.string ?? ""
      #expect(optional.contains(tag) || name == "GET /metrics", "\(name)")
    }
  }

  /// Every operation has a unique name, a summary and its errors; every reference can be resolved.
  @Test func theDocumentIsComplete() throws {
    let document = try document()
    #expect(document["openapi"]?.string?.hasPrefix("3.1") == true)
    var names: Set<String> = []
    for (name, operation) in try operations() {
      let isNew = names.insert(operation["operationId"]?.string ?? "").inserted
      #expect(isNew, "\(name)")
      #expect(operation["summary"]?.string?.isEmpty == false, "\(name)")
      let path = name.split(separator: " ").last ?? ""
      let wanted = Set(
        path.split(separator: "/").filter { $0.hasPrefix("{") }.map { $0.dropFirst().dropLast() })
      let given = (operation["parameters"]?.array ?? []).compactMap { parameter -> Substring? in
        let own = parameter["$ref"]?.string.flatMap { Self.find($0, in: document) } ?? parameter
        guard own["in"]?.string == "path" else { return nil }
        return own["name"]?.string.map { $0[...] }
      }
      #expect(Set(given) == wanted, "\(name)")
      if path.hasPrefix("/api/v1/") { #expect(operation["responses"]?["401"] != nil, "\(name)") }
      let changes = ["PUT", "POST", "PATCH"].contains { name.hasPrefix($0) }
      if changes { #expect(operation["responses"]?["413"] != nil, "\(name)") }
    }
    Self.check(document, in: document)
  }

  private static func find(_ reference: String, in document: JSONValue) -> JSONValue? {
    reference.split(separator: "/").dropFirst().reduce(document as JSONValue?) { $0?[String($1)] }
  }

  private static func check(_ value: JSONValue, in document: JSONValue) {
    switch value {
    case .array(let elements): for element in elements { check(element, in: document) }
    case .object(let members):
      if let reference = members["$ref"]?.string {
        #expect(find(reference, in: document) != nil, "\(reference)")
      }
      for member in members.values { check(member, in: document) }
    default: break
    }
  }
}
