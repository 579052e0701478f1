internal import Bytes
internal import JSON

/// The outline of one line of gpsd's protocol, looked at before libgps may parse it.
///
/// `gps_unpack` of libgps 3.22 believes what it gets. After an error inside an object it looks for the next
/// `"class":` behind the error and parses from there, and when that is not the start of an object, it does so for
/// ever (five devices are enough, or one cut and one whole report run together). It also fills fields from what it
/// could read of a broken report. So only lines go to it that are one well-formed object whose first member, and no
/// further one, is `class`.
struct GPSDLine {
  /// gpsd's name of the report, as in "TPV".
  let reportClass: String
  /// The names of the object's own members.
  let members: Set<String>
  /// The objects inside an array of the object, as a list of devices has them.
  let elements: [Range<Int>]

  /// Nil for what is not such an object, and for a class inside another object, where libgps could lose its way.
  /// - Parameter bytes: the line without its end.
  init?(_ bytes: ArraySlice<UInt8>) {
    var outline = GPSDOutline()
    guard JSONScan(bytes.span, &outline).isValid, outline.firstMember == "class",
      let reportClass = outline.firstString
    else { return nil }
    self.reportClass = reportClass
    members = outline.members
    elements = outline.elements.map { bytes.startIndex + $0.lowerBound..<bytes.startIndex + $0.upperBound }
    let tags = Self.count(of: "\"class\":", in: bytes)
    // Each device in a list of devices has a class; they are taken out and parsed one by one.
    guard tags == 1 || (reportClass == "DEVICES" && tags == elements.count + 1) else { return nil }
  }

  /// Whether the characters occur anywhere in the line.
  static func contains(_ pattern: String, in bytes: ArraySlice<UInt8>) -> Bool {
    count(of: pattern, in: bytes) > 0
  }

  private static func count(of text: String, in bytes: ArraySlice<UInt8>) -> Int {
    let pattern = Array(text.utf8)
    var count = 0
    var index = bytes.startIndex
    while index + pattern.count <= bytes.endIndex {
      if bytes[index] == pattern[0], bytes[index..<index + pattern.count].elementsEqual(pattern) {
        count += 1
      }
      index += 1
    }
    return count
  }
}

/// Notes the outline of an object while it is scanned, and stops at what libgps cannot bear. It keeps no values: those are
/// libgps's to read.
private struct GPSDOutline: JSONVisitor {
  private static let deepestNesting = 8

  /// The first member's name and, when it is a string, its value.
  private(set) var firstMember: String?
  private(set) var firstString: String?
  private(set) var members: Set<String> = []
  private(set) var elements: [Range<Int>] = []
  private var isFirst = false
  private var isInArray = false
  private var element: Int?

  mutating func visit(name: Range<Int>, hasEscapes: Bool, depth: Int, of bytes: Span<UInt8>) -> Bool {
    guard depth == 1 else { return true }
    let text = bytes.text(name, hasEscapes: false)
    isFirst = firstMember == nil
    if isFirst { firstMember = text }
    members.insert(text)
    return true
  }

  mutating func visit(_ scalar: JSONScalar, _ range: Range<Int>, depth: Int, of bytes: Span<UInt8>) -> Bool {
    // The line is an object.
    guard depth > 0 else { return false }
    if isFirst, case .string = scalar {
      firstString = bytes.text(range.lowerBound + 1..<range.upperBound - 1, hasEscapes: false)
    }
    isFirst = false
    return scalar != .number || Self.isBearable(bytes.extracting(range))
  }

  mutating func open(isObject: Bool, at offset: Int, depth: Int, of bytes: Span<UInt8>) -> Bool {
    isFirst = false
    if depth == 1 { isInArray = !isObject }
    if depth == 2 { element = isObject && isInArray ? offset : nil }
    return depth < Self.deepestNesting && (depth > 0 || isObject)
  }

  mutating func close(at offset: Int, depth: Int) -> Bool {
    if depth == 2, let start = element { elements.append(start..<offset + 1) }
    return true
  }

  /// A decimal number short enough for libgps, which computes long exponents with overflowing integers and then
  /// reads beyond its table of powers.
  private static func isBearable(_ number: Span<UInt8>) -> Bool {
    guard number.count <= 40 else { return false }
    for index in number.indices where number[index] | 0x20 == UInt8(ascii: "e") && number.count - index > 5 {
      return false
    }
    return DecimalText.number(number) != nil
  }
}
