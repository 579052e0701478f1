internal import Telemetry

extension JSONValue {
  /// As compact JSON text, with members in the order of their names.
  var text: String {
    switch self {
    case .null: return "null"
    case .bool(let flag): return flag ? "true" : "false"
    case .integer(let number): return "\(number)"
    case .number(let number): return number.isFinite ? "\(number)" : "null"
    case .string(let text): return Self.quoted(text)
    case .array(let elements): return "[" + elements.map(\.text).joined(separator: ",") + "]"
    case .object(let members):
      let parts = members.sorted { $0.key < $1.key }.map { Self.quoted($0.key) + ":" + $0.value.text }
      return "{" + parts.joined(separator: ",") + "}"
    }
  }

  private static func quoted(_ text: String) -> String {
    var writer = JSONWriter(capacity: text.utf8.count + 8)
    writer.value(text)
    return String(decoding: writer.bytes, as: UTF8.self)
  }
}
