/// Walks through the tokens of a statement.
struct DBCCursor {
  let line: Int
  private let tokens: [DBCToken]
  private let name: String
  /// Behind the keyword.
  private var index = 1

  init(_ statement: DBCLines.Statement, name: String) {
    tokens = statement.tokens
    line = statement.line
    self.name = name
  }

  var isAtEnd: Bool { index >= tokens.count }

  func problem(_ problem: String, _ remedy: String) -> CANError {
    CANError(place: "\(name):\(line)", problem: problem, remedy: remedy)
  }

  private mutating func next() -> DBCToken? {
    guard index < tokens.count else { return nil }
    defer { index += 1 }
    return tokens[index]
  }

  private func missing(_ what: String) -> CANError {
    let found = index < tokens.count ? "\(Self.shown(tokens[index]))" : "the end of the line"
    return problem(
      "\(what) is expected, and \(found) found", "write it as the DBC format has it, or export the file again"
    )
  }

  private static func shown(_ token: DBCToken) -> String {
    switch token {
    case .word(let word): "\"\(word.prefix(40))\""
    case .text: "a text"
    case .mark(let byte): (33...126).contains(byte) ? "\"\(Unicode.Scalar(byte))\"" : "a control character"
    }
  }

  /// Takes a mark, if it is the next token.
  mutating func takes(_ mark: Unicode.Scalar) -> Bool {
    guard index < tokens.count, tokens[index].isMark(mark) else { return false }
    index += 1
    return true
  }

  mutating func mark(_ mark: Unicode.Scalar, after what: String) throws(CANError) {
    guard takes(mark) else { throw missing("\"\(mark)\" after \(what)") }
  }

  mutating func integer(_ what: String, in range: ClosedRange<Int64>) throws(CANError) -> Int64 {
    guard index < tokens.count, let word = tokens[index].word else { throw missing(what) }
    // Some tools write whole numbers with a point.
    guard let number = Int64(word) ?? Double(word).flatMap(Int64.init(exactly:)) else { throw missing(what) }
    guard range.contains(number) else {
      throw problem(
        "\(what) is \(number)", "it must be from \(range.lowerBound) to \(range.upperBound)")
    }
    index += 1
    return number
  }

  mutating func number(_ what: String) throws(CANError) -> Double {
    guard index < tokens.count, let number = tokens[index].number else { throw missing(what) }
    index += 1
    return number
  }

  mutating func name(_ what: String) throws(CANError) -> String {
    guard index < tokens.count, let word = tokens[index].word else { throw missing(what) }
    guard word.utf8.count <= DBCReader.longestName else {
      throw problem("\(what) has more than \(DBCReader.longestName) bytes", "shorten it")
    }
    index += 1
    return word
  }

  mutating func text(_ what: String) throws(CANError) -> String {
    guard index < tokens.count, let text = tokens[index].text else { throw missing(what) }
    index += 1
    return text
  }

  /// The words up to the end of the statement.
  mutating func words() -> [String] {
    var words: [String] = []
    while let token = next(), !token.isMark(";") { if let word = token.word { words.append(word) } }
    return words
  }

  /// A message's identifier; nil for what is none.
  mutating func identifier() -> UInt32? {
    guard let number = index < tokens.count ? tokens[index].word.flatMap({ UInt32($0) }) : nil else {
      return nil
    }
    index += 1
    return number
  }
}

extension DBCCursor {
  /// `Name [M|m3] : start|length@order sign (factor,offset) [min|max] "unit" …`
  mutating func signal() throws(CANError) -> DBCSignal {
    let title = try name("the signal's name")
    let what = "of signal \(title)"
    var multiplexing = DBCSignal.Multiplexing.none
    if !takes(":") {
      multiplexing = try self.multiplexing(what)
      try mark(":", after: "the multiplexing \(what)")
    }
    let start = try integer("the start bit \(what)", in: 0...511)
    try mark("|", after: "the start bit \(what)")
    let length = try integer("the length in bits \(what)", in: 1...64)
    try mark("@", after: "the length \(what)")
    let (order, isSigned) = try byteOrder(what)
    try mark("(", after: "the byte order \(what)")
    let factor = try number("the factor \(what)")
    try mark(",", after: "the factor \(what)")
    let offset = try number("the offset \(what)")
    try mark(")", after: "the offset \(what)")
    try mark("[", after: "factor and offset \(what)")
    let least = try number("the minimum \(what)")
    try mark("|", after: "the minimum \(what)")
    let most = try number("the maximum \(what)")
    try mark("]", after: "the maximum \(what)")
    let unit = try text("the unit \(what)")
    return DBCSignal(
      name: title, start: Int(start), length: Int(length), byteOrder: order,
      format: isSigned ? .signed : .unsigned, factor: factor, offset: offset,
      range: least < most ? least...most : nil, unit: unit, multiplexing: multiplexing, line: line)
  }

  private mutating func multiplexing(_ what: String) throws(CANError) -> DBCSignal.Multiplexing {
    let word = try name("the multiplexing \(what)")
    if word == "M" { return .multiplexor }
    guard word.first == "m" else { throw unknown(word, what) }
    if word.last == "M", UInt64(word.dropFirst().dropLast()) != nil { return .extended }
    guard let value = UInt64(word.dropFirst()) else { throw unknown(word, what) }
    return .multiplexed(value)
  }

  private func unknown(_ word: String, _ what: String) -> CANError {
    problem("the multiplexing \(what) is \"\(word.prefix(20))\"", "write M, or m and a number as in m3")
  }

  /// `1+`, `0-` and so on, which the lines take for a word.
  private mutating func byteOrder(_ what: String) throws(CANError) -> (DBCSignal.ByteOrder, isSigned: Bool) {
    switch try name("the byte order \(what)") {
    case "1+": return (.little, false)
    case "1-": return (.little, true)
    case "0+": return (.big, false)
    case "0-": return (.big, true)
    case let word:
      throw problem(
        "the byte order \(what) is \"\(word.prefix(20))\"", "write 1 (Intel) or 0 (Motorola), then + or -")
    }
  }
}
