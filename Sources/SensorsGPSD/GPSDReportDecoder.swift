internal import Bytes
internal import CGPS
internal import Glibc
internal import JSON
internal import Platform
internal import Sensors
internal import Spatial

/// Decodes lines of gpsd's protocol with libgps (`gps_unpack`), for live sessions and recorded logs.
///
/// No state passes from one line to the next: `gps_unpack` sets every field that a report of the class can
/// have, missing ones to NaN, and only those fields are read afterwards.
// Sendable: `data` is used only by `decode`, under `exclusive`.
@safe public final class GPSDReportDecoder: @unchecked Sendable {
  private let data: UnsafeMutablePointer<gps_data_t>
  private let exclusive = Locked(())

  public init() {
    // 24 kB: allocated once, not on a thread's stack for every line.
    unsafe data = .allocate(capacity: 1)
    unsafe data.initialize(to: gps_data_t())
  }

  deinit { unsafe data.deallocate() }

  /// Decodes a line without its end; nil unless it is a well-formed report. White space and the order of
  /// members are irrelevant.
  public func decode(_ line: ArraySlice<UInt8>) -> GPSDReport? {
    let line = GPSDLine.canonical(line)
    guard let outline = GPSDLine(line) else { return nil }
    return exclusive.withLock { _ in report(line, outline) }
  }

  private func report(_ line: ArraySlice<UInt8>, _ outline: GPSDLine) -> GPSDReport? {
    switch outline.reportClass {
    case "TPV":
      let set = unpack(line)
      return .fix(fix(set))
    case "SKY":
      guard unpack(line) & UInt64(SATELLITE_SET) != 0 else { return nil }
      // If a report has dilutions but no list of satellites, libgps sets the number of satellites to zero.
      // The number is then unknown.
      let hasSatellites = outline.members.contains("satellites")
      return unsafe .sky(
        GPSDSky(
          device: string(of: data.pointee.dev.path),
          satellitesUsed: hasSatellites ? Int(data.pointee.satellites_used) : nil,
          satellitesVisible: hasSatellites ? Int(data.pointee.satellites_visible) : nil,
          horizontalDilution: finite(data.pointee.dop.hdop), satellites: hasSatellites ? satellites() : nil,
          dilution: dilution()))
    case "VERSION":
      guard unpack(line) & UInt64(VERSION_SET) != 0 else { return nil }
      let version = unsafe data.pointee.version
      return .version(
        GPSDVersion(
          release: string(of: version.release) ?? "unknown", protocolMajor: Int(version.proto_major),
          protocolMinor: Int(version.proto_minor)))
    case "DEVICE": return device(line).map { .device($0) }
    case "DEVICES":
      // Devices are parsed one by one, because libgps reads only four devices of a list.
      return .devices(
        outline.elements.compactMap { range in
          let element = line[range]
          guard let outline = GPSDLine(element), outline.reportClass == "DEVICE" else { return nil }
          return device(element)
        })
    case "ERROR":
      guard unpack(line) & UInt64(ERROR_SET) != 0 else { return nil }
      return unsafe .error(string(of: data.pointee.error) ?? "no message")
    default: return .other(outline.reportClass)
    }
  }

  /// Parses a line with libgps. Returns the groups of fields that it reports as set.
  private func unpack(_ line: ArraySlice<UInt8>) -> UInt64 {
    var text = line.map { CChar(bitPattern: $0) }
    text.append(0)
    return unsafe text.withUnsafeMutableBufferPointer { buffer in
      unsafe data.pointee.set = 0
      unsafe gps_unpack(buffer.baseAddress, data)
      return unsafe data.pointee.set
    }
  }

  private func device(_ line: ArraySlice<UInt8>) -> GPSDDevice? {
    // The report of a closed device contains `"activated":0`, a number where libgps expects text. libgps
    // stops there without setting DEVICE_SET, but has already read the path. So the path is used if present.
    unsafe data.pointee.dev.path.0 = 0
    let isWhole = unpack(line) & UInt64(DEVICE_SET) != 0
    guard let path = unsafe string(of: data.pointee.dev.path) else { return nil }
    let activated = unsafe data.pointee.dev.activated
    let isActive = isWhole ? activated.tv_sec > 0 : !GPSDLine.contains("\"activated\":0", in: line)
    return GPSDDevice(path: path, driver: unsafe string(of: data.pointee.dev.driver), isActive: isActive)
  }

  private func fix(_ set: UInt64) -> GPSDFix {
    let source = unsafe data.pointee.fix
    var fix = GPSDFix()
    fix.device = unsafe string(of: data.pointee.dev.path)
    if set & UInt64(MODE_SET) != 0 { fix.mode = Int(source.mode) }
    if set & UInt64(STATUS_SET) != 0, source.status > 0 { fix.status = Int(source.status) }
    if set & UInt64(TIME_SET) != 0 { fix.time = time(source.time) }
    // LATLON_SET refers to the longitude only, ALTITUDE_SET to any height: each field is checked
    // individually.
    fix.latitude = finite(source.latitude)
    fix.longitude = finite(source.longitude)
    fix.altitudeEllipsoidal = finite(source.altHAE)
    // gpsd before 3.20 reports only `alt`, the height above mean sea level, and the errors of both axes.
    fix.altitudeMeanSeaLevel =
      finite(source.altMSL) ?? (fix.altitudeEllipsoidal == nil ? finite(source.altitude) : nil)
    fix.track = finite(source.track)
    fix.speed = finite(source.speed)
    fix.climb = finite(source.climb)
    fix.eph = finite(source.eph) ?? finite(hypot(source.epx, source.epy))
    fix.epv = finite(source.epv)
    fix.eps = finite(source.eps)
    fix.epd = finite(source.epd)
    return fix
  }

  /// The satellites of the last report.
  private func satellites() -> [Satellite] {
    let count = unsafe min(Int(data.pointee.satellites_visible), SatelliteSky.limit)
    return unsafe withUnsafeBytes(of: &data.pointee.skyview) { bytes in
      unsafe bytes.bindMemory(to: satellite_t.self).prefix(max(0, count)).map(satellite)
    }
  }

  private func satellite(_ source: satellite_t) -> Satellite {
    // gpsd omits system and number together; libgps sets both to zero then.
    let isNumbered = source.svid > 0
    return Satellite(
      identifier: Int(source.PRN), system: isNumbered ? Satellite.System(rawValue: Int(source.gnssid)) : nil,
      number: isNumbered ? Int(source.svid) : nil,
      elevation: finite(source.elevation).flatMap { abs($0) <= 90 ? $0 : nil },
      azimuth: finite(source.azimuth).flatMap { (0..<360).contains($0) ? $0 : nil },
      signal: finite(source.ss).flatMap { (0...254).contains($0) ? $0 : nil }, isUsed: source.used)
  }

  /// The dilutions of the last report; nil if it contained none.
  private func dilution() -> DilutionOfPrecision? {
    let source = unsafe data.pointee.dop
    func factor(_ value: Double) -> Double? { finite(value).flatMap { $0 >= 0 ? $0 : nil } }
    var dilution = DilutionOfPrecision(
      horizontal: factor(source.hdop), vertical: factor(source.vdop), position: factor(source.pdop))
    (dilution.longitude, dilution.latitude) = (factor(source.xdop), factor(source.ydop))
    (dilution.time, dilution.geometric) = (factor(source.tdop), factor(source.gdop))
    return dilution == DilutionOfPrecision() ? nil : dilution
  }

  private func finite(_ value: Double) -> Double? { value.isFinite ? value : nil }

  /// Converts a time of libgps. Nil for times before 1970, which libgps produces from an invalid text. libgps
  /// also truncates, so that nanoseconds may be one too low; rounding to microseconds restores gpsd's whole
  /// milliseconds.
  private func time(_ time: timespec) -> UTCTime? {
    guard time.tv_sec > 0, time.tv_sec < 9_000_000_000 else { return nil }
    let nanoseconds = (Int64(time.tv_nsec) + 500) / 1000 * 1000
    return UTCTime(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + nanoseconds)
  }

  /// Returns the text in one of libgps's character arrays, which Swift imports as tuples; nil if empty.
  private func string<Characters>(of characters: Characters) -> String? {
    let bytes = unsafe withUnsafeBytes(of: characters) { unsafe Array($0.prefix { $0 != 0 }) }
    return bytes.isEmpty ? nil : String(decoding: bytes, as: UTF8.self)
  }
}

/// The outline of one line of gpsd's protocol, checked before libgps parses it.
///
/// `gps_unpack` of libgps 3.22 trusts its input. After an error inside an object it searches for the next
/// `"class":` after the error and parses from there. If that is not the start of an object, it repeats this
/// forever (five devices are sufficient, or a truncated and a whole report without a line end between them).
/// It also sets fields from the readable parts of a broken report. Therefore it receives only lines that are
/// one well-formed object whose first member, and no further one, is `class`.
struct GPSDLine {
  /// gpsd's name of the report, as in "TPV".
  let reportClass: String
  /// Names of the object's own members.
  let members: Set<String>
  /// Ranges of the objects inside an array of the object, as in a list of devices.
  let elements: [Range<Int>]

  /// Returns the object in gpsd's form: without white space between its parts, and with its class first.
  /// libgps compares `"class":"TPV"` byte by byte.
  static func canonical(_ line: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
    if line.starts(with: Self.beginning), !line.contains(where: { $0 <= 0x20 }) { return line }
    var (bytes, isText, isEscaped) = ([UInt8](), false, false)
    bytes.reserveCapacity(line.count)
    for byte in line {
      if !isText, byte == 0x20 || (0x09...0x0D).contains(byte) { continue }
      if byte == UInt8(ascii: "\""), !isEscaped { isText.toggle() }
      isEscaped = byte == UInt8(ascii: "\\") && !isEscaped
      bytes.append(byte)
    }
    if bytes.starts(with: Self.beginning) { return bytes[...] }
    var member = GPSDClassMember()
    guard JSONScan(membersOf: bytes.span, &member).isValid, let range = member.range, range.lowerBound > 1
    else {
      return bytes[...]
    }
    var ordered = [UInt8(ascii: "{")]
    ordered += bytes[range]
    ordered.append(UInt8(ascii: ","))
    // A comma precedes every member but the first one.
    ordered += bytes[1..<range.lowerBound - 1]
    ordered += bytes[range.upperBound...]
    return ordered[...]
  }

  private static let beginning = Array("{\"class\":".utf8)

  /// Nil for other content, and for a class inside another object, which libgps cannot handle.
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
    // Each device in a list of devices has a class; they are extracted and parsed one by one.
    guard tags == 1 || (reportClass == "DEVICES" && tags == elements.count + 1) else { return nil }
  }

  /// Returns whether the characters occur anywhere in the line.
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

/// Finds the member `class` of the outermost object.
private struct GPSDClassMember: JSONMemberVisitor {
  private(set) var range: Range<Int>?

  mutating func visit(_ name: Range<Int>, _ value: Range<Int>, of bytes: Span<UInt8>) {
    guard range == nil, bytes.text(name, hasEscapes: false) == "class" else { return }
    range = name.lowerBound - 1..<value.upperBound
  }
}

/// Records the outline of an object during a scan, and stops at content that libgps cannot handle. Values are
/// not stored, because libgps reads them.
private struct GPSDOutline: JSONVisitor {
  private static let deepestNesting = 8

  /// Name of the first member, and its value if it is a string.
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
    // The outermost value of a report must be an object.
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

  /// Returns whether a decimal number is short enough for libgps, which computes long exponents with
  /// overflowing integers and then reads beyond its table of powers.
  private static func isBearable(_ number: Span<UInt8>) -> Bool {
    guard number.count <= 40 else { return false }
    for index in number.indices where number[index] | 0x20 == UInt8(ascii: "e") && number.count - index > 5 {
      return false
    }
    return DecimalText.number(number) != nil
  }
}
