extension ConfigurationKey {
  /// The value in the key's own type; nil when JSON of another type or out of range.
  package func accept(json: JSONValue) -> Value? {
    switch json {
    case .string(let text): return accept(.text(text))
    case .bool(let flag): return accept(.flag(flag))
    case .integer(let number): return accept(.integer(Int(number)))
    case .number(let number): return accept(.number(number))
    case .array(let elements):
      let texts = elements.compactMap(\.string)
      return texts.count == elements.count ? accept(.texts(texts)) : nil
    case .null, .object: return nil
    }
  }
}

extension ConfigurationKey.Value {
  package var json: JSONValue {
    switch self {
    case .text(let text): .string(text)
    case .texts(let texts): .array(texts.map(JSONValue.string))
    case .integer(let number): .integer(Int64(number))
    case .number(let number): .number(number)
    case .flag(let flag): .bool(flag)
    }
  }
}
