extension JSONWriter {
  /// Writes any value; objects with their keys in order, numbers with nine decimals at most.
  public mutating func value(_ json: JSONValue) {
    switch json {
    case .null: raw(Array("null".utf8))
    case .bool(let flag): value(flag)
    case .integer(let number): value(number)
    case .number(let number): value(number, decimals: 9)
    case .string(let text): value(text)
    case .array(let elements):
      openArray()
      for element in elements { value(element) }
      closeArray()
    case .object(let members):
      openObject()
      for (name, member) in members.sorted(by: { $0.key < $1.key }) {
        key(name)
        value(member)
      }
      closeObject()
    }
  }
}
