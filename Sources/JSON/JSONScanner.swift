/// An iterative JSON scanner: no recursion, no allocation.
@usableFromInline struct JSONScanner<Visitor: JSONVisitor> {
  @usableFromInline var visitor: Visitor
  @usableFromInline var position = 0
  @usableFromInline var needsEscaping = false
  @usableFromInline var hasEscape = false
  @usableFromInline var isStopped = false
  @usableFromInline var levels = JSONLevels()

  @inlinable init(_ visitor: Visitor) { self.visitor = visitor }

  @inlinable mutating func scan(_ bytes: Span<UInt8>) -> JSONScan {
    guard text(bytes) else { return isStopped ? .stopped : .invalid(at: position) }
    return needsEscaping ? .validAfterEscaping : .valid
  }

  @inlinable mutating func text(_ bytes: Span<UInt8>) -> Bool {
    skipSpace(bytes)
    guard value(bytes) else { return false }
    while levels.count > 0 {
      skipSpace(bytes)
      guard next(bytes) else { return false }
    }
    skipSpace(bytes)
    return position == bytes.count
  }

  @inlinable mutating func goOn(_ isWanted: Bool) -> Bool {
    if !isWanted { isStopped = true }
    return isWanted
  }

  /// Continues after a value inside an object or array: with its end, or with a comma and the next value.
  @inlinable mutating func next(_ bytes: Span<UInt8>) -> Bool {
    guard position < bytes.count else { return false }
    let isObject = levels.isLastObject
    let byte = bytes[position]
    if byte == (isObject ? UInt8(ascii: "}") : UInt8(ascii: "]")) {
      levels.removeLast()
      position += 1
      return goOn(visitor.close(at: position - 1, depth: levels.count))
    }
    guard byte == UInt8(ascii: ",") else { return false }
    position += 1
    skipSpace(bytes)
    if isObject, !name(bytes) { return false }
    return value(bytes)
  }

  /// Scans a member's name and the colon.
  @inlinable mutating func name(_ bytes: Span<UInt8>) -> Bool {
    guard position < bytes.count, bytes[position] == UInt8(ascii: "\"") else { return false }
    position += 1
    let start = position
    hasEscape = false
    guard string(bytes) else { return false }
    let end = position - 1
    guard
      goOn(visitor.visit(name: start..<end, hasEscapes: hasEscape, depth: levels.count, of: bytes))
    else { return false }
    skipSpace(bytes)
    guard position < bytes.count, bytes[position] == UInt8(ascii: ":") else { return false }
    position += 1
    skipSpace(bytes)
    return true
  }

  /// Scans a value, or the opening bracket of an object or array and its first value. An empty one is closed
  /// immediately.
  @inlinable mutating func value(_ bytes: Span<UInt8>) -> Bool {
    while position < bytes.count {
      let start = position
      let byte = bytes[start]
      let scalar: JSONScalar
      switch byte {
      case UInt8(ascii: "\""):
        position += 1
        hasEscape = false
        guard string(bytes) else { return false }
        scalar = .string(hasEscapes: hasEscape)
      case UInt8(ascii: "{"), UInt8(ascii: "["):
        let isObject = byte == UInt8(ascii: "{")
        guard levels.count < JSONScan.deepest else { return false }
        guard goOn(visitor.open(isObject: isObject, at: start, depth: levels.count, of: bytes)) else {
          return false
        }
        position += 1
        skipSpace(bytes)
        guard position < bytes.count else { return false }
        if bytes[position] == (isObject ? UInt8(ascii: "}") : UInt8(ascii: "]")) {
          position += 1
          return goOn(visitor.close(at: position - 1, depth: levels.count))
        }
        levels.append(isObject: isObject)
        if isObject, !name(bytes) { return false }
        continue
      case UInt8(ascii: "t"):
        guard word("true", bytes) else { return false }
        scalar = .true
      case UInt8(ascii: "f"):
        guard word("false", bytes) else { return false }
        scalar = .false
      case UInt8(ascii: "n"):
        guard word("null", bytes) else { return false }
        scalar = .null
      default:
        guard number(bytes) else { return false }
        scalar = .number
      }
      return goOn(visitor.visit(scalar, start..<position, depth: levels.count, of: bytes))
    }
    return false
  }

  @inlinable @inline(__always) mutating func skipSpace(_ bytes: Span<UInt8>) {
    // The check saves a call, because most texts have no spaces here.
    if position < bytes.count, bytes[position] <= 0x20 { skipSpaces(bytes) }
  }

  @inlinable @inline(never) mutating func skipSpaces(_ bytes: Span<UInt8>) {
    while position < bytes.count {
      switch bytes[position] {
      case UInt8(ascii: " "): break
      case 0x09, 0x0A, 0x0D: needsEscaping = true
      default: return
      }
      position += 1
    }
  }

  @inlinable mutating func word(_ word: StaticString, _ bytes: Span<UInt8>) -> Bool {
    let end = position + word.utf8CodeUnitCount
    guard end <= bytes.count, bytes.equals(position..<end, word) else { return false }
    position = end
    return true
  }

  @inlinable mutating func number(_ bytes: Span<UInt8>) -> Bool {
    // A local variable, so that the compiler can use a register.
    var index = position
    defer { position = index }
    if index < bytes.count, bytes[index] == UInt8(ascii: "-") { index += 1 }
    let start = index
    guard Self.skipDigits(&index, bytes) else { return false }
    if bytes[start] == UInt8(ascii: "0"), index - start > 1 {
      index = start + 1
      return false
    }
    if index < bytes.count, bytes[index] == UInt8(ascii: ".") {
      index += 1
      guard Self.skipDigits(&index, bytes) else { return false }
    }
    if index < bytes.count, bytes[index] | 0x20 == UInt8(ascii: "e") {
      index += 1
      if index < bytes.count, bytes[index] == UInt8(ascii: "+") || bytes[index] == UInt8(ascii: "-") {
        index += 1
      }
      guard Self.skipDigits(&index, bytes) else { return false }
    }
    return true
  }

  @inlinable @inline(__always) static func skipDigits(_ index: inout Int, _ bytes: Span<UInt8>) -> Bool {
    let start = index
    while index < bytes.count, bytes[index] &- 0x30 < 10 { index &+= 1 }
    return index > start
  }

  /// Scans the rest of a string after its opening quote.
  @inlinable mutating func string(_ bytes: Span<UInt8>) -> Bool {
    while position < bytes.count {
      // A local variable, so that the compiler can use a register. Most bytes of a payload are processed
      // here.
      var index = bytes.plainEnd(from: position)
      while index < bytes.count, bytes[index].isPlainInJSON { index += 1 }
      position = index
      guard index < bytes.count else { return false }
      let byte = bytes[index]
      switch byte {
      case UInt8(ascii: "\""):
        position += 1
        return true
      case UInt8(ascii: "\\"):
        hasEscape = true
        guard let end = JSONEscape.end(at: index, bytes) else { return false }
        position = end
      case 0..<0x20: return false
      case 0x7F:
        needsEscaping = true
        position += 1
      default:
        guard let scalar = UTF8Scalar(at: index, bytes) else { return false }
        if scalar.isUnseen { needsEscaping = true }
        position += scalar.length
      }
    }
    return false
  }
}

/// A stack of open brackets with one bit each (1 for objects). An array would need an allocation for every
/// payload.
@usableFromInline struct JSONLevels {
  @usableFromInline var count = 0
  @usableFromInline var bits = InlineArray<8, UInt64>(repeating: 0)

  @inlinable init() {}

  @inlinable var isLastObject: Bool { bits[(count - 1) >> 6] >> UInt64((count - 1) & 63) & 1 == 1 }

  /// Appends a level.
  ///
  /// - Precondition: the stack has fewer than `JSONScan.deepest` levels.
  @inlinable mutating func append(isObject: Bool) {
    let bit: UInt64 = 1 << UInt64(count & 63)
    if isObject { bits[count >> 6] |= bit } else { bits[count >> 6] &= ~bit }
    count += 1
  }

  @inlinable mutating func removeLast() { count -= 1 }
}
