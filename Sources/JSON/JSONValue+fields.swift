// Members checked for type and range. Unknown members are ignored by never being looked at.

extension JSONValue {
  package func required(_ name: String, in range: ClosedRange<Double>) throws(JSONError) -> Double {
    guard let value = try optional(name, in: range) else { throw JSONError("key \"\(name)\": missing") }
    return value
  }

  package func optional(_ name: String, in range: ClosedRange<Double>) throws(JSONError) -> Double? {
    guard let member = self[name] else { return nil }
    guard let value = member.double else { throw JSONError("key \"\(name)\": not a number") }
    guard range.contains(value) else {
      throw JSONError("key \"\(name)\": \(value) is not within \(range.lowerBound) to \(range.upperBound)")
    }
    return value
  }
}
