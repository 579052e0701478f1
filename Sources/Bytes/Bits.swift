/// A writer that packs numbers of any width, most significant bit first.
package struct BitWriter: Sendable {
  /// The packed bytes; the last one is padded with zeros.
  package private(set) var bytes: [UInt8] = []
  private var free = 0

  package init() {}

  /// Appends the low `width` bits of a number, 0 ... 64.
  package mutating func append(_ number: UInt64, _ width: Int) {
    var left = width
    while left > 0 {
      if free == 0 {
        bytes.append(0)
        free = 8
      }
      let count = min(left, free)
      let part = UInt8(truncatingIfNeeded: number >> UInt64(left - count)) & UInt8((1 << count) - 1)
      bytes[bytes.count - 1] |= part << UInt8(free - count)
      free -= count
      left -= count
    }
  }

  /// Aligns the next number to a byte boundary.
  package mutating func align() { free = 0 }

  /// Appends strictly ascending numbers below 2^`width`. n numbers need at most n (width - log2 n + 2) bits
  /// (P. Elias, "Efficient storage and retrieval by content and address of static files", 1974). The count is
  /// not stored; the reader must pass it to `growing`.
  package mutating func append(growing numbers: [UInt64], width: Int) {
    let low = Self.low(count: numbers.count, width: width)
    var high: UInt64 = 0
    for number in numbers {
      for _ in high..<(number >> UInt64(low)) { append(0, 1) }
      append(1, 1)
      high = number >> UInt64(low)
    }
    for number in numbers { append(number, low) }
  }

  /// Returns the number of low bits that are stored unchanged.
  fileprivate static func low(count: Int, width: Int) -> Int {
    guard count > 1 else { return width }
    return max(0, width - (Int.bitWidth - (count - 1).leadingZeroBitCount))
  }
}

/// A reader of the numbers that `BitWriter` has packed. Safe for any input: it never reads beyond the end.
package struct BitReader: Sendable {
  private let bytes: [UInt8]
  private var place = 0

  package init(_ bytes: [UInt8]) { self.bytes = bytes }

  /// True if all bytes were read.
  package var isAtEnd: Bool { (place + 7) / 8 >= bytes.count }

  /// Reads the next number.
  ///
  /// - Returns: the next `width` bits, 0 ... 64; nil if fewer remain.
  package mutating func next(_ width: Int) -> UInt64? {
    guard width <= 8 * bytes.count - place else { return nil }
    var number: UInt64 = 0
    var left = width
    while left > 0 {
      let free = 8 - place % 8
      let count = min(left, free)
      let part = bytes[place / 8] >> UInt8(free - count) & UInt8((1 << count) - 1)
      number = number << UInt64(count) | UInt64(part)
      place += count
      left -= count
    }
    return number
  }

  package mutating func align() { place = (place + 7) / 8 * 8 }

  /// Reads strictly ascending numbers.
  ///
  /// - Returns: nil if too few bits remain, or if the numbers do not ascend or exceed the width.
  package mutating func growing(count: Int, width: Int) -> [UInt64]? {
    let low = BitWriter.low(count: count, width: width)
    // Each number needs at least one bit, so memory is reserved only for numbers that can exist.
    guard count <= 8 * bytes.count - place else { return nil }
    var highs: [UInt64] = []
    var high: UInt64 = 0
    while highs.count < count {
      guard let bit = next(1) else { return nil }
      if bit == 1 { highs.append(high) } else { high += 1 }
    }
    guard high >> UInt64(width - low) == 0 || count == 0 else { return nil }
    var numbers: [UInt64] = []
    for high in highs {
      guard let rest = next(low) else { return nil }
      let number = high << UInt64(low) | rest
      if let last = numbers.last, number <= last { return nil }
      numbers.append(number)
    }
    return numbers
  }
}
