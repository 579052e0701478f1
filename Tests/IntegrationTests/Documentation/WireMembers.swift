import Foundation
import JSON
import TestSupport

/// Members of messages according to the schemas, for example "location.speed", "regions/desired.features.id" or
/// "command/locate/response.result".
struct WireMembers {
  private let schemas: [String: JSONValue]
  /// Topic names below `command`.
  private let commands: Set<String>

  init() throws {
    let api = try String(contentsOfFile: "\(ContractScript.repository)/Config/asyncapi.yaml", encoding: .utf8)
    let list = api.firstMatch(of: /enum: \[(locate[^\]]*)\]/)?.output.1 ?? ""
    commands = Set(list.split(separator: ", ").map(String.init))
    let folder = URL(fileURLWithPath: "\(ContractScript.repository)/Config/schemas")
    var schemas: [String: JSONValue] = [:]
    for file in try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
    where file.pathExtension == "json" {
      let name = file.deletingPathExtension().lastPathComponent
      schemas[name] = try JSONValue(parsing: [UInt8](Data(contentsOf: file)))
    }
    self.schemas = schemas
  }

  func contains(_ name: String) -> Bool {
    let parts = name.split(separator: ".")
    guard let topic = parts.first else { return false }
    var schema = String(topic.replacing("/", with: "-"))
    if topic.hasPrefix("command/") {
      let levels = topic.split(separator: "/")
      guard levels.count == 2 || levels[2...] == ["response"], commands.contains(String(levels[1]))
      else { return false }
      schema = levels.count == 2 ? "command-request" : "command-response"
    }
    guard let document = schemas[schema] else { return false }
    return has(parts.dropFirst(), in: document, of: document)
  }

  private func has(_ path: ArraySlice<Substring>, in schema: JSONValue, of document: JSONValue) -> Bool {
    guard let first = path.first else { return true }
    if let reference = schema["$ref"]?.string {
      let target = reference.split(separator: "/").dropFirst().reduce(document as JSONValue?) {
        $0?[String($1)]
      }
      return target.map { has(path, in: $0, of: document) } ?? false
    }
    if let member = schema["properties"]?[String(first)] {
      return has(path.dropFirst(), in: member, of: document)
    }
    return ["items", "oneOf", "anyOf", "allOf"].contains { key in
      guard let inner = schema[key] else { return false }
      return (inner.array ?? [inner]).contains { has(path, in: $0, of: document) }
    }
  }
}
