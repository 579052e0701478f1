/// The natural order of names: `sim-2` precedes `sim-10`. Consecutive digits are compared as a number, all
/// other characters byte by byte. Names that only differ in leading zeros are in byte order.
package enum NaturalOrder {
  /// Returns whether a name precedes another.
  package static func precedes(_ a: String, _ b: String) -> Bool {
    var (x, y) = (a.utf8[...], b.utf8[...])
    while let p = x.first, let q = y.first {
      if isDigit(p), isDigit(q) {
        let (m, n) = (takeNumber(from: &x), takeNumber(from: &y))
        if m.count != n.count { return m.count < n.count }
        if let (c, d) = zip(m, n).first(where: { $0 != $1 }) { return c < d }
      } else if p != q {
        return p < q
      } else {
        x = x.dropFirst()
        y = y.dropFirst()
      }
    }
    return x.isEmpty == y.isEmpty ? a < b : x.isEmpty
  }

  /// Returns a sort key. The byte order of the keys is the natural order of the names, because each number is
  /// preceded by the count of its digits. Comparing two keys takes a third of the time of `precedes`, which
  /// matters for lists of ten thousand vehicles.
  package static func key(_ name: String) -> String {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(name.utf8.count + 4)
    var rest = name.utf8[...]
    while let byte = rest.first {
      guard isDigit(byte) else {
        bytes.append(byte)
        rest = rest.dropFirst()
        continue
      }
      let number = takeNumber(from: &rest)
      // Each digit of the count is at most 9. A 9 means that the next digit adds to the count.
      bytes.append(contentsOf: repeatElement(UInt8(ascii: "9"), count: number.count / 9))
      bytes.append(UInt8(ascii: "0") + UInt8(number.count % 9))
      bytes.append(contentsOf: number)
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Removes the digits at the start of a text. Returns them without leading zeros; empty if the number is
  /// zero.
  private static func takeNumber(from text: inout Substring.UTF8View) -> Substring.UTF8View {
    let digits = text.prefix(while: isDigit)
    text = text[digits.endIndex...]
    return digits.drop { $0 == UInt8(ascii: "0") }
  }

  private static func isDigit(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
  }
}
