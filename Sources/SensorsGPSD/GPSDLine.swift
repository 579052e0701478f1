/// The outline of one line of gpsd's protocol, looked at before libgps may parse it.
///
/// `gps_unpack` of libgps 3.22 believes what it gets. After an error inside an object it looks for the next
/// `"class":` behind the error and parses from there, and when that is not the start of an object, it does so for
/// ever (five devices are enough, or one cut and one whole report run together). It also fills fields from what it
/// could read of a broken report. So only lines go to it that are one well-formed object whose first member, and no
/// further one, is `class`.
struct GPSDLine {
  /// Why a line is not a report.
  enum Fault: Error, Equatable {
    /// Not one JSON object; the number is the byte where that shows, from 0.
    case malformed(at: Int)
    /// The object does not begin with its class.
    case classless
    /// A class inside another object, where libgps could lose its way.
    case nestedClass
  }

  /// gpsd's name of the report, as in "TPV".
  let reportClass: String
  /// The names of the object's own members.
  let members: Set<String>
  /// The objects inside an array of the object, as a list of devices has them.
  let elements: [Range<Int>]

  /// - Parameter bytes: the line without its end.
  init(_ bytes: ArraySlice<UInt8>) throws(Fault) {
    var scanner = JSONScanner(bytes)
    try scanner.scanLine()
    guard scanner.firstMember == "class", let value = scanner.firstString else { throw .classless }
    reportClass = value
    members = scanner.members
    elements = scanner.elements
    let tags = Self.count(of: "\"class\":", in: bytes)
    // Each device in a list of devices has a class; they are taken out and parsed one by one.
    guard tags == 1 || (value == "DEVICES" && tags == elements.count + 1) else { throw .nestedClass }
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
