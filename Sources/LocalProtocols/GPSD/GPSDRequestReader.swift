internal import JSON

/// A request of gpsd's protocol: `?NAME;`, or `?NAME={…};` with an object.
struct GPSDRequest: Hashable {
  /// The whole text without its end, for error messages.
  let text: String
  /// The name without the question mark.
  let name: String
  /// The object's text; nil without an equals sign.
  let argument: [UInt8]?
}

/// Separates a stream of bytes into requests. A request ends with a semicolon, with the end of its object or
/// with the end of the line, as gpsd accepts it. Other lines are ignored.
struct GPSDRequestReader {
  /// Maximum length of a request in bytes. gpsd documents 80 characters and accepts more.
  static let longestRequest = 1024

  /// A part of the input.
  enum Part: Hashable {
    case request(GPSDRequest)
    /// A request that exceeds the limit. The rest of its line is ignored.
    case tooLong
  }

  private enum State { case between, skipping, name, object }
  private var state = State.between
  private var bytes: [UInt8] = []
  private var equals: Int?
  private var depth = 0
  private var isText = false
  private var isEscaped = false

  /// Adds a byte. Returns the part that it completes.
  mutating func add(_ byte: UInt8) -> Part? {
    let isLineEnd = byte == UInt8(ascii: "\n")
    switch state {
    case .between:
      switch byte {
      case UInt8(ascii: "?"):
        bytes = [byte]
        state = .name
      case UInt8(ascii: ";"), UInt8(ascii: " "), 0x09...0x0D: break
      default: state = .skipping
      }
      return nil
    case .skipping:
      if isLineEnd { state = .between }
      return nil
    case .name:
      if isLineEnd || byte == UInt8(ascii: ";") { return finish() }
      if byte == UInt8(ascii: "="), equals == nil { equals = bytes.count }
      if byte == UInt8(ascii: "{"), equals != nil { (state, depth) = (.object, 1) }
    case .object:
      if isLineEnd { return finish() }
      if isText {
        if byte == UInt8(ascii: "\""), !isEscaped { isText = false }
        isEscaped = byte == UInt8(ascii: "\\") && !isEscaped
      } else if byte == UInt8(ascii: "\"") {
        (isText, isEscaped) = (true, false)
      } else if byte == UInt8(ascii: "{") {
        depth += 1
      } else if byte == UInt8(ascii: "}") {
        depth -= 1
      }
      if depth == 0 {
        bytes.append(byte)
        return finish()
      }
    }
    guard bytes.count < Self.longestRequest else {
      reset(to: .skipping)
      return .tooLong
    }
    bytes.append(byte)
    return nil
  }

  private mutating func finish() -> Part {
    if bytes.last == UInt8(ascii: "\r") { bytes.removeLast() }
    let end = min(equals ?? bytes.count, bytes.count)
    let request = GPSDRequest(
      text: String(decoding: bytes, as: UTF8.self),
      name: String(decoding: bytes[1..<max(1, end)], as: UTF8.self),
      argument: equals.map { Array(bytes.dropFirst($0 + 1)) })
    reset(to: .between)
    return .request(request)
  }

  private mutating func reset(to next: State) {
    (state, bytes, equals, depth, isText, isEscaped) = (next, [], nil, 0, false, false)
  }
}
