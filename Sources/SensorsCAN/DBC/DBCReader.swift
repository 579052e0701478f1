/// Reads what of a DBC file says where signals lie: `BO_`, `SG_`, `VAL_`, `SIG_VALTYPE_` and `SG_MUL_VAL_`. The rest (nodes, comments,
/// attributes) is passed over.
struct DBCReader {
  /// Bytes of a file, and what may stand in it: far beyond what any vehicle has.
  static let (longestFile, mostMessages, mostSignals, longestName) = (32 << 20, 20_000, 200_000, 128)

  private let name: String
  private var database = DBCDatabase()
  private var indices: [CANFrame.Identifier: Int] = [:]
  private var signalCount = 0
  /// The message that `SG_` belongs to; nil after one that is not read.
  private var current: Int?
  /// In the list of keywords that opens many files.
  private var isInNewSymbols = false

  /// - Parameter name: what errors call the file.
  init(name: String) {
    self.name = name
  }

  /// - Throws: `CANError` that names the line and the remedy.
  mutating func read(_ bytes: [UInt8]) throws(CANError) -> DBCDatabase {
    guard bytes.count <= Self.longestFile else {
      throw CANError(
        place: name, problem: "is longer than \(Self.longestFile >> 20) MB", remedy: "name a DBC file")
    }
    var lines = DBCLines(bytes)
    while let statement = lines.next() { try take(statement) }
    if let line = lines.openText {
      throw problem(line, "a text begins and never ends", "close it with a quotation mark")
    }
    guard !database.messages.isEmpty else {
      throw CANError(place: name, problem: "holds no message (BO_)", remedy: "name a DBC file")
    }
    return database
  }

  private mutating func take(_ statement: DBCLines.Statement) throws(CANError) {
    guard let keyword = statement.tokens[0].word else { return }
    if keyword == "NS_" {
      isInNewSymbols = true
      return
    }
    if statement.isAtMargin { isInNewSymbols = false }
    guard !isInNewSymbols else { return }
    var cursor = DBCCursor(statement, name: name)
    switch keyword {
    case "BO_": try takeMessage(&cursor)
    case "SG_": try takeSignal(&cursor)
    case "VAL_": try takeLabels(&cursor)
    case "SIG_VALTYPE_": try takeFormat(&cursor)
    case "SG_MUL_VAL_": try takeMultiplexing(&cursor)
    default: return
    }
  }

  private mutating func takeMessage(_ cursor: inout DBCCursor) throws(CANError) {
    current = nil
    let raw = try cursor.integer("the message's identifier", in: 0...0xFFFF_FFFF)
    let title = try cursor.name("the message's name")
    try cursor.mark(":", after: "the message's name")
    let length = try cursor.integer("the message's length in bytes", in: 0...65_535)
    // Where signals stand that no message carries.
    if raw == 0xC000_0000 { return }
    let isExtended = raw & 0x8000_0000 != 0
    guard raw & 0x7FFF_FFFF <= (isExtended ? 0x1FFF_FFFF : 0x7FF) else {
      throw cursor.problem(
        "message \(title): the identifier \(raw) has more than \(isExtended ? 29 : 11) bits",
        "correct it; extended ones have 2147483648 added")
    }
    guard database.messages.count < Self.mostMessages else {
      throw cursor.problem("more than \(Self.mostMessages) messages", "leave out what is not needed")
    }
    let identifier = CANFrame.Identifier(UInt32(truncatingIfNeeded: raw), isExtended: isExtended)
    if let other = indices[identifier] {
      throw cursor.problem(
        "message \(title) has the identifier of \(database.messages[other].name) in line \(database.messages[other].line)",
        "leave one of them out")
    }
    current = database.messages.count
    indices[identifier] = database.messages.count
    database.messages.append(
      DBCMessage(identifier: identifier, name: title, length: Int(length), line: cursor.line))
  }

  private mutating func takeSignal(_ cursor: inout DBCCursor) throws(CANError) {
    guard let current else { return }
    let signal = try cursor.signal()
    signalCount += 1
    guard signalCount <= Self.mostSignals else {
      throw cursor.problem("more than \(Self.mostSignals) signals", "leave out what is not needed")
    }
    if signal.multiplexing == .multiplexor, let other = database.messages[current].multiplexor {
      throw cursor.problem(
        "signal \(signal.name): \(other.name) is the multiplexor of its message already",
        "let one of them be M")
    }
    database.messages[current].signals.append(signal)
  }

  private mutating func takeLabels(_ cursor: inout DBCCursor) throws(CANError) {
    // Those of environment variables begin with a name.
    guard let place = try place(&cursor) else { return }
    var labels: [Int64: String] = [:]
    while !cursor.isAtEnd, !cursor.takes(";") {
      let value = try cursor.integer("a value of \(place.name)", in: Int64.min...Int64.max)
      labels[value] = try cursor.text("what \(value) of \(place.name) is called")
    }
    database.messages[place.message].signals[place.signal].labels = labels
  }

  private mutating func takeFormat(_ cursor: inout DBCCursor) throws(CANError) {
    guard let place = try place(&cursor) else { return }
    _ = cursor.takes(":")
    let format = try cursor.integer("the value type of \(place.name)", in: 0...3)
    guard format > 0 else { return }
    let length = database.messages[place.message].signals[place.signal].length
    guard format < 3, length == (format == 1 ? 32 : 64) else {
      throw cursor.problem(
        "signal \(place.name) is floating point of \(length) bits", "give it 32 (1) or 64 bits (2)")
    }
    database.messages[place.message].signals[place.signal].format = .float
  }

  /// Extended multiplexing: a signal may hang on another multiplexor than the message's, or on several of its values, and would then be
  /// read of frames that do not carry it.
  private mutating func takeMultiplexing(_ cursor: inout DBCCursor) throws(CANError) {
    guard let place = try place(&cursor) else { return }
    let multiplexor = try cursor.name("the multiplexor of \(place.name)")
    let values = cursor.words()
    let message = database.messages[place.message]
    guard case .multiplexed(let value) = message.signals[place.signal].multiplexing,
      multiplexor != message.multiplexor?.name || values != ["\(value)-\(value)"]
    else { return }
    database.messages[place.message].signals[place.signal].multiplexing = .extended
  }

  /// The signal that a statement is about; nil for one that is not there, of which some tools' files tell.
  private func place(
    _ cursor: inout DBCCursor
  ) throws(CANError) -> (message: Int, signal: Int, name: String)? {
    guard let raw = cursor.identifier() else { return nil }
    let name = try cursor.name("the signal's name")
    let identifier = CANFrame.Identifier(raw, isExtended: raw & 0x8000_0000 != 0)
    guard raw != 0xC000_0000, let message = indices[identifier],
      let signal = database.messages[message].signals.firstIndex(where: { $0.name == name })
    else { return nil }
    return (message, signal, name)
  }

  private func problem(_ line: Int, _ problem: String, _ remedy: String) -> CANError {
    CANError(place: "\(name):\(line)", problem: problem, remedy: remedy)
  }
}

extension DBCDatabase {
  /// - Parameters:
  ///   - bytes: the file, in UTF-8 or Windows-1252.
  ///   - name: what errors call it.
  /// - Throws: `CANError` that names the line and the remedy.
  public init(parsing bytes: [UInt8], name: String) throws(CANError) {
    var reader = DBCReader(name: name)
    self = try reader.read(bytes)
  }
}
