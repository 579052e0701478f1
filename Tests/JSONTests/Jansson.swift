import CJansson
import JSON

/// An independent parser for comparisons.
enum Jansson {
  enum Outcome {
    case value(JSONValue)
    case refused(String)
  }

  static func parse(_ bytes: [UInt8]) -> Outcome {
    var problem = json_error_t()
    let root = bytes.withUnsafeBytes { buffer in
      json_loadb(
        buffer.bindMemory(to: CChar.self).baseAddress, buffer.count, Int(JSON_DECODE_ANY | JSON_ALLOW_NUL),
        &problem)
    }
    guard let root else {
      return .refused(
        withUnsafeBytes(of: &problem.text) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) })
    }
    defer { odograph_json_release(root) }
    return .value(copy(root))
  }

  private static func copy(_ value: UnsafeMutablePointer<json_t>) -> JSONValue {
    switch value.pointee.type {
    case JSON_TRUE: return .bool(true)
    case JSON_FALSE: return .bool(false)
    case JSON_INTEGER: return .integer(Int64(json_integer_value(value)))
    case JSON_REAL: return .number(json_real_value(value))
    case JSON_STRING:
      let buffer = UnsafeBufferPointer(start: json_string_value(value), count: json_string_length(value))
      return .string(String(decoding: buffer.lazy.map { UInt8(bitPattern: $0) }, as: UTF8.self))
    case JSON_ARRAY:
      return .array((0..<json_array_size(value)).compactMap { json_array_get(value, $0).map { copy($0) } })
    case JSON_OBJECT:
      var members: [String: JSONValue] = [:]
      var iterator = json_object_iter(value)
      while let current = iterator {
        if let name = json_object_iter_key(current), let member = json_object_iter_value(current) {
          members[String(cString: name)] = copy(member)
        }
        iterator = json_object_iter_next(value, current)
      }
      return .object(members)
    default: return .null
    }
  }
}
