internal import Sensors

/// Reads the tokens of a statement in order.
struct DBCCursor {
  let line: Int
  private let tokens: [DBCToken]
  private let name: String
  /// Index of the next token, after the keyword.
  private var index = 1

  init(_ statement: DBCStatements.Statement, name: String) {
    tokens = statement.tokens
    line = statement.line
    self.name = name
  }

  var isAtEnd: Bool { index >= tokens.count }

  func problem(_ problem: String, _ remedy: String) -> SourceError {
    SourceError(place: "\(name):\(line)", problem: problem, remedy: remedy)
  }

  private mutating func next() -> DBCToken? {
    guard index < tokens.count else { return nil }
    defer { index += 1 }
    return tokens[index]
  }

  private func missing(_ what: String) -> SourceError {
    let found = index < tokens.count ? "found \(Self.shown(tokens[index]))" : "the statement ends"
    return problem("expected \(what), but \(found)", "correct the statement, or export the file again")
  }

  private static func shown(_ token: DBCToken) -> String {
    switch token {
    case .word(let word): "\"\(word.prefix(40))\""
    case .text: "a text"
    case .mark(let byte): (33...126).contains(byte) ? "\"\(Unicode.Scalar(byte))\"" : "a control character"
    }
  }

  /// Reads a punctuation mark if it is the next token, and returns whether it was.
  mutating func takes(_ mark: Unicode.Scalar) -> Bool {
    guard index < tokens.count, tokens[index].isMark(mark) else { return false }
    index += 1
    return true
  }

  mutating func mark(_ mark: Unicode.Scalar, after what: String) throws(SourceError) {
    guard takes(mark) else { throw missing("\"\(mark)\" after \(what)") }
  }

  mutating func integer(_ what: String, in range: ClosedRange<Int64>) throws(SourceError) -> Int64 {
    guard index < tokens.count, let word = tokens[index].word else { throw missing(what) }
    // Some tools write integers with a decimal point.
    guard let number = Int64(word) ?? Double(word).flatMap(Int64.init(exactly:)) else { throw missing(what) }
    guard range.contains(number) else {
      throw problem(
        "\(what) is \(number)", "it must be from \(range.lowerBound) to \(range.upperBound)")
    }
    index += 1
    return number
  }

  mutating func number(_ what: String) throws(SourceError) -> Double {
    guard index < tokens.count, let number = tokens[index].number else { throw missing(what) }
    index += 1
    return number
  }

  mutating func name(_ what: String) throws(SourceError) -> String {
    guard index < tokens.count, let word = tokens[index].word else { throw missing(what) }
    guard word.utf8.count <= DBCReader.longestName else {
      throw problem("\(what) has more than \(DBCReader.longestName) bytes", "shorten it")
    }
    index += 1
    return word
  }

  mutating func text(_ what: String) throws(SourceError) -> String {
    guard index < tokens.count, let text = tokens[index].text else { throw missing(what) }
    index += 1
    return text
  }

  /// The next token if it is a word, without reading it; nil at the end and for any other token.
  var nextWord: String? { index < tokens.count ? tokens[index].word : nil }

  /// The second token after the statement's keyword if it is a word; nil otherwise.
  var secondWord: String? { tokens.count > 2 ? tokens[2].word : nil }

  /// Reads a bound of a range; nil if it is unlimited, as in `-1.#INF`.
  mutating func bound(_ what: String) throws(SourceError) -> Double? {
    guard let word = nextWord else { throw missing(what) }
    guard let number = Double(word) else {
      guard word.contains("#") else { throw missing(what) }
      index += 1
      return nil
    }
    index += 1
    return number.isFinite ? number : nil
  }

  /// Reads ranges of values as in `0-0, 2-4`, in ascending order and without overlaps.
  mutating func ranges(_ what: String) throws(SourceError) -> [ClosedRange<UInt64>] {
    var (ranges, text) = ([ClosedRange<UInt64>](), "")
    while true {
      let token = next()
      if let word = token?.word {
        text += word
        continue
      }
      let bounds = text.split(separator: "-", omittingEmptySubsequences: false).map { UInt64($0) }
      guard bounds.count == 2, let first = bounds[0], let last = bounds[1], first <= last else {
        throw problem(
          "\(what) are \"\(text.prefix(40))\"", "write ranges as in 0-0, 2-4; export the file again")
      }
      ranges.append(first...last)
      text = ""
      guard token?.isMark(",") == true else { break }
    }
    return ranges.sorted { $0.lowerBound < $1.lowerBound }
  }

  /// Reads a message's identifier; nil if the next token is not a number.
  mutating func identifier() -> UInt32? {
    guard let number = nextWord.flatMap({ UInt32($0) }) else { return nil }
    index += 1
    return number
  }
}

/// The multiplexing of a signal as its `SG_` statement defines it. An `SG_MUL_VAL_` statement may add ranges
/// of values.
struct DBCSwitch: Hashable {
  /// True if the signal's value selects other signals, as with `M` and `m3M`.
  var isMultiplexor = false
  /// The multiplexor value that selects the signal: 3 for `m3` and `m3M`. Nil for `M`, and for a signal that
  /// every frame contains.
  var value: UInt64?

  var isNone: Bool { self == DBCSwitch() }
}

extension DBCCursor {
  /// Parses `Name [M|m3|m3M] : start|length@order sign (factor,offset) [min|max] "unit" …`
  mutating func signal() throws(SourceError) -> (DBCSignal, DBCSwitch) {
    let title = try name("the signal's name")
    let what = "of signal \(title)"
    var multiplexing = DBCSwitch()
    if !takes(":") {
      multiplexing = try self.multiplexing(what)
      try mark(":", after: "the multiplexing \(what)")
    }
    let most = DBCReader.longestMessage * 8
    let start = try integer("the start bit \(what)", in: 0...Int64(most) - 1)
    try mark("|", after: "the start bit \(what)")
    let length = try integer("the length in bits \(what)", in: 1...Int64(most))
    try mark("@", after: "the length \(what)")
    let (order, isSigned) = try byteOrder(what)
    try mark("(", after: "the byte order \(what)")
    let factor = try number("the factor \(what)")
    try mark(",", after: "the factor \(what)")
    let offset = try number("the offset \(what)")
    try mark(")", after: "the offset \(what)")
    try mark("[", after: "factor and offset \(what)")
    let lower = try bound("the minimum \(what)") ?? -.infinity
    try mark("|", after: "the minimum \(what)")
    let upper = try bound("the maximum \(what)") ?? .infinity
    try mark("]", after: "the maximum \(what)")
    let unit = try text("the unit \(what)")
    var signal = DBCSignal(
      name: title, start: Int(start), length: Int(length), byteOrder: order,
      format: isSigned ? .signed : .unsigned, factor: factor, offset: offset,
      range: lower < upper ? lower...upper : nil, unit: unit, isMultiplexor: multiplexing.isMultiplexor,
      line: line)
    if length > 64 { signal.fault = "has \(length) bits; at most 64 can be read" }
    return (signal, multiplexing)
  }

  private mutating func multiplexing(_ what: String) throws(SourceError) -> DBCSwitch {
    let word = try name("the multiplexing \(what)")
    if word == "M" { return DBCSwitch(isMultiplexor: true) }
    let isMultiplexor = word.last == "M"
    guard word.first == "m", let value = UInt64(word.dropFirst().dropLast(isMultiplexor ? 1 : 0)) else {
      throw problem(
        "the multiplexing \(what) is \"\(word.prefix(20))\"", "write M, or m and a number as in m3")
    }
    return DBCSwitch(isMultiplexor: isMultiplexor, value: value)
  }

  /// Parses `1+`, `0-` and so on, which are words to the lexer.
  private mutating func byteOrder(_ what: String) throws(SourceError) -> (DBCSignal.ByteOrder, isSigned: Bool)
  {
    var word = try name("the byte order \(what)")
    if word.utf8.count == 1, let sign = nextWord {
      index += 1
      word += sign
    }
    switch word {
    case "1+": return (.little, false)
    case "1-": return (.little, true)
    case "0+": return (.big, false)
    case "0-": return (.big, true)
    default:
      throw problem(
        "the byte order \(what) is \"\(word.prefix(20))\"", "write 1 (Intel) or 0 (Motorola), then + or -")
    }
  }
}
