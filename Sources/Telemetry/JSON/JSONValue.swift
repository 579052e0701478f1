internal import CJansson

/// Why a text is not the JSON that it should be.
public struct JSONError: Error, Hashable, Sendable, CustomStringConvertible {
  /// What is wrong, with line and column for a syntax error or the path of the key for a wrong value.
  public var description: String

  public init(_ description: String) {
    self.description = description
  }
}

/// A parsed JSON value. Objects keep the last of duplicate keys; a number is an integer only where the text has
/// neither a fraction nor an exponent.
public enum JSONValue: Sendable, Hashable {
  case null
  case bool(Bool)
  case integer(Int64)
  case number(Double)
  case string(String)
  case array([JSONValue])
  case object([String: JSONValue])

  /// Parses UTF-8 text that holds one value of any type and nothing else. Parsing is jansson's: strict RFC 8259,
  /// nesting at most 2048 deep, numbers out of range refused.
  ///
  /// - Throws: `JSONError` naming line and column.
  public init(parsing bytes: [UInt8]) throws(JSONError) {
    var problem = json_error_t()
    let root = unsafe bytes.withUnsafeBytes { buffer in
      unsafe json_loadb(
        buffer.bindMemory(to: CChar.self).baseAddress, buffer.count,
        Int(JSON_DECODE_ANY | JSON_ALLOW_NUL), &problem)
    }
    guard let root = unsafe root else {
      let text = unsafe withUnsafeBytes(of: &problem.text) { buffer in
        unsafe String(decoding: buffer.prefix { $0 != 0 }, as: UTF8.self)
      }
      throw JSONError("line \(problem.line) column \(problem.column): \(text)")
    }
    defer { unsafe odograph_json_release(root) }
    self = unsafe Self.copy(root)
  }

  // jansson itself bounds the nesting, so the recursion is bounded too.
  private static func copy(_ value: UnsafeMutablePointer<json_t>) -> JSONValue {
    switch json_type(rawValue: UInt32(unsafe odograph_json_type(value))) {
    case JSON_TRUE: return .bool(true)
    case JSON_FALSE: return .bool(false)
    case JSON_INTEGER: return .integer(unsafe Int64(json_integer_value(value)))
    case JSON_REAL: return .number(unsafe json_real_value(value))
    case JSON_STRING:
      let buffer = unsafe UnsafeBufferPointer(
        start: json_string_value(value), count: json_string_length(value))
      return unsafe .string(String(decoding: buffer.lazy.map { UInt8(bitPattern: $0) }, as: UTF8.self))
    case JSON_ARRAY:
      var elements: [JSONValue] = []
      let count = unsafe json_array_size(value)
      elements.reserveCapacity(count)
      for index in 0..<count {
        if let element = unsafe json_array_get(value, index) { elements.append(unsafe copy(element)) }
      }
      return .array(elements)
    case JSON_OBJECT:
      var members: [String: JSONValue] = [:]
      members.reserveCapacity(unsafe json_object_size(value))
      var iterator = unsafe json_object_iter(value)
      while let current = unsafe iterator {
        if let name = unsafe json_object_iter_key(current),
          let member = unsafe json_object_iter_value(current)
        {
          members[unsafe String(cString: name)] = unsafe copy(member)
        }
        unsafe iterator = json_object_iter_next(value, current)
      }
      return .object(members)
    default: return .null
    }
  }
}

extension JSONValue {
  /// The member of an object; nil when this is no object or has no such key, or the member is null.
  public subscript(name: String) -> JSONValue? {
    guard case .object(let members) = self, let member = members[name], member != .null else { return nil }
    return member
  }

  public var string: String? { if case .string(let text) = self { text } else { nil } }
  public var bool: Bool? { if case .bool(let flag) = self { flag } else { nil } }
  public var array: [JSONValue]? { if case .array(let elements) = self { elements } else { nil } }
  public var integer: Int64? { if case .integer(let number) = self { number } else { nil } }

  /// Any number as a double.
  public var double: Double? {
    switch self {
    case .integer(let number): Double(number)
    case .number(let number): number
    default: nil
    }
  }
}
