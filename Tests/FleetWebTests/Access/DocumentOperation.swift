import JSON
import Platform
import TestSupport
import Testing

/// An operation of the OpenAPI document, as a request of a test.
struct DocumentOperation {
  var method: String
  var path: String
  var json: JSONValue

  var name: String { "\(method) \(path)" }
  var isChange: Bool { method != "GET" }

  /// Returns the request of an attacker: every parameter that can name a vehicle names one of another fleet.
  func request(about vehicle: String, of fleet: String) -> (path: String, body: String?) {
    var place = path.replacing("{fleet}", with: fleet).replacing("{vehicle}", with: vehicle)
      .replacing("{series}", with: HistoryRows.series).replacing("{file}", with: "1.geojson")
    for name in ["{id}", "{name}", "{secret}", "{z}", "{x}", "{y}"] {
      place = place.replacing(name, with: "1")
    }
    if path.contains("/traces/") { place = place.replacing("1.geojson", with: "1.odotrace") }
    var query: [String] = []
    for parameter in json["parameters"]?.array ?? [] {
      let name =
        parameter["name"]?.string ?? parameter["$ref"]?.string?.split(separator: "/").last.map(String.init)
      switch name {
      case "fleet" where parameter["in"]?.string == "query": query.append("fleet=\(fleet)")
      case "vehicle" where parameter["in"]?.string == "query": query.append("vehicle=\(vehicle)")
      case "q": query.append("q=\(vehicle)")
      case "selected": query.append("selected=\(fleet)/\(vehicle)")
      case "since", "from": query.append("from=2026-11-21")
      case "until", "to": query.append("to=2026-11-22")
      case "bounds": query.append("bounds=-180,-85,180,85")
      case "zoom": query.append("zoom=3")
      case "state" where path.hasSuffix("/alerts"): query.append("state=all")
      default: break
      }
    }
    if !query.isEmpty { place += "?" + query.joined(separator: "&") }
    guard isChange else { return (place, nil) }
    let yard =
      #"{"type":"Feature","id":"yard","geometry":{"type":"Point","coordinates":[11,48]},"properties":{"radius":50}}"#
    let collection = #""type":"FeatureCollection","features":[\#(yard)]"#
    switch path.split(separator: "/").last {
    case "regions" where path.contains("{vehicle}"): return (place, "{\(collection)}")
    case "regions": return (place, #"{"vehicles":["\#(fleet)/\#(vehicle)"],"features":{\#(collection)}}"#)
    case "settings": return (place, #"{"settings":{"status.interval":30}}"#)
    case "commands": return (place, #"{"command":"locate"}"#)
    case "shares": return (place, #"{"fleet":"\#(fleet)","vehicle":"\#(vehicle)","seconds":600}"#)
    case "silence": return (place, #"{"seconds":600}"#)
    default: return (place, #"{"selected":"\#(fleet)/\#(vehicle)"}"#)
    }
  }

  /// - Parameter who: headers that identify the client.
  func ask(
    _ web: AccessFixture, about vehicle: String, of fleet: String = "taxi", _ who: [String]
  ) throws -> RawClient.Answer {
    let (path, body) = request(about: vehicle, of: fleet)
    let isMap = path.contains("/regions") && path.contains("/vehicles/")
    let type = isMap ? "application/geo+json" : "application/json"
    return try web.ask(method, path, who + ["Content-Type: \(type)"], body: body)
  }

  /// Returns all operations of the document.
  static func all() throws -> [DocumentOperation] {
    let path = "\(ContractScript.repository)/Sources/CFleetPage/page/openapi.json"
    let document = try JSONValue(parsing: try #require(try AtomicFile.read(path)))
    guard case .object(let paths)? = document["paths"] else { return [] }
    return paths.sorted { $0.key < $1.key }.flatMap { path, item -> [DocumentOperation] in
      guard case .object(let methods) = item else { return [] }
      return methods.sorted { $0.key < $1.key }.map {
        DocumentOperation(method: $0.key.uppercased(), path: path, json: $0.value)
      }
    }
  }
}
