public import Sensors

/// Reads the layout of signals from a DBC file: `BO_`, `SG_`, `VAL_`, `VAL_TABLE_`, `SIG_VALTYPE_` and `SG_MUL_VAL_`. Other statements
/// (nodes, comments, attributes) are ignored.
///
/// A statement that cannot be read is skipped with its reason. Only a file without any readable message is an error.
struct DBCReader {
  /// Limits in bytes and entries, far above those of real vehicles.
  static let (longestFile, mostMessages, mostSignals, longestName) = (32 << 20, 20_000, 200_000, 128)
  /// Maximum length of a message in bytes: J1939's transport protocol allows 1,785, other protocols more.
  static let longestMessage = 65_535

  private let name: String
  private var database = DBCDatabase()
  private var multiplexing = DBCMultiplexing()
  private var tables: [String: [Int64: String]] = [:]
  /// References of signals to tables of labels, as in `VAL_ 500 Gear GearTable;`.
  private var tableReferences: [(signal: SignalIndex, table: String)] = []
  private var indices: [CANFrame.Identifier: [Int]] = [:]
  private var signalCount = 0
  /// The message that the next `SG_` belongs to.
  private var current = Current.none

  private enum Current {
    case none
    case message(Int)
    /// A skipped message, with the reason.
    case skipped(String, SourceError)
  }

  struct SignalIndex: Hashable {
    var message: Int
    var signal: Int
  }

  /// - Parameter name: the file's name in errors.
  init(name: String) {
    self.name = name
  }

  /// - Throws: `SourceError` for a file that is too large or has no readable message.
  mutating func read(_ bytes: [UInt8]) throws(SourceError) -> DBCDatabase {
    guard bytes.count <= Self.longestFile else {
      throw SourceError(
        place: name, problem: "is longer than \(Self.longestFile >> 20) MB", remedy: "name a DBC file")
    }
    var statements = DBCStatements(bytes)
    while let statement = statements.next() { try read(statement) }
    if let line = statements.openText {
      skip(
        SourceError(
          place: "\(name):\(line)", problem: "a text has no closing quotation mark",
          remedy: "close it with a quotation mark"))
    }
    guard !database.messages.isEmpty else {
      throw database.skipped.first { $0.message != nil }?.error
        ?? SourceError(place: name, problem: "has no message (BO_)", remedy: "name a DBC file")
    }
    for (place, table) in tableReferences {
      if let labels = tables[table] { database.messages[place.message].signals[place.signal].labels = labels }
    }
    multiplexing.resolve(&database)
    return database
  }

  private mutating func skip(_ error: SourceError, message: String? = nil, signal: String? = nil) {
    database.skipped.append(DBCSkip(message: message, signal: signal, error: error))
  }

  /// - Throws: `SourceError` for a file beyond the limits; any other fault is recorded.
  private mutating func read(_ statement: DBCStatements.Statement) throws(SourceError) {
    guard case .word(let keyword) = statement.tokens[0] else { return }
    var cursor = DBCCursor(statement, name: name)
    switch keyword {
    case "BO_": try readMessage(&cursor)
    case "SG_": try readSignal(&cursor)
    case "VAL_", "VAL_TABLE_", "SIG_VALTYPE_", "SG_MUL_VAL_":
      do throws(SourceError) {
        switch keyword {
        case "VAL_": try readLabels(&cursor)
        case "VAL_TABLE_": try readTable(&cursor)
        case "SIG_VALTYPE_": try readFormat(&cursor)
        default: try readMultiplexing(&cursor)
        }
      } catch {
        skip(error)
      }
    case _ where DBCStatements.isKeyword(keyword): return
    default:
      skip(
        cursor.problem(
          "\"\(keyword.prefix(40))\" is not a statement of a DBC file", "correct or delete the statement"))
    }
  }

  private mutating func readMessage(_ cursor: inout DBCCursor) throws(SourceError) {
    current = .none
    let title = cursor.secondWord ?? ""
    let message: DBCMessage?
    do throws(SourceError) {
      message = try self.message(&cursor)
    } catch {
      skip(error, message: title)
      current = .skipped(title, error)
      return
    }
    guard let message else { return }
    guard database.messages.count < Self.mostMessages else {
      throw cursor.problem("more than \(Self.mostMessages) messages", "delete messages that are not needed")
    }
    current = .message(database.messages.count)
    indices[message.identifier, default: []].append(database.messages.count)
    database.messages.append(message)
  }

  /// Parses a message. Nil for the placeholder message that tools use for signals without a message.
  private func message(_ cursor: inout DBCCursor) throws(SourceError) -> DBCMessage? {
    let raw = try cursor.integer("the message's identifier", in: 0...0xFFFF_FFFF)
    let title = try cursor.name("the message's name")
    try cursor.mark(":", after: "the message's name")
    let length = try cursor.integer("the message's length in bytes", in: 0...Int64(Self.longestMessage))
    if raw == 0xC000_0000 || title == "VECTOR__INDEPENDENT_SIG_MSG" { return nil }
    let isExtended = raw & 0x8000_0000 != 0
    guard raw & 0x7FFF_FFFF <= (isExtended ? 0x1FFF_FFFF : 0x7FF) else {
      throw cursor.problem(
        "message \(title): the identifier \(raw) has more than \(isExtended ? 29 : 11) bits",
        "correct it; extended identifiers have 2147483648 added")
    }
    return DBCMessage(
      identifier: CANFrame.Identifier(UInt32(truncatingIfNeeded: raw), isExtended: isExtended), name: title,
      length: Int(length), line: cursor.line)
  }

  private mutating func readSignal(_ cursor: inout DBCCursor) throws(SourceError) {
    let title = cursor.nextWord
    switch current {
    case .none: return
    case .skipped(let message, let error): skip(error, message: message, signal: title)
    case .message(let index):
      signalCount += 1
      guard signalCount <= Self.mostSignals else {
        throw cursor.problem("more than \(Self.mostSignals) signals", "delete signals that are not needed")
      }
      do throws(SourceError) {
        let (signal, multiplexing) = try cursor.signal()
        let place = SignalIndex(message: index, signal: database.messages[index].signals.count)
        if !multiplexing.isNone { self.multiplexing.switches[place] = multiplexing }
        database.messages[index].signals.append(signal)
      } catch {
        skip(error, message: database.messages[index].name, signal: title)
      }
    }
  }

  private mutating func readLabels(_ cursor: inout DBCCursor) throws(SourceError) {
    // Statements about other objects are ignored: the labels of an environment variable start with its name
    // instead of a message's identifier.
    guard let (places, name) = try places(&cursor) else { return }
    if let table = cursor.nextWord, Int64(table) == nil, Double(table) == nil {
      tableReferences += places.map { ($0, table) }
      return
    }
    let labels = try labels(&cursor, of: name)
    for place in places { database.messages[place.message].signals[place.signal].labels = labels }
  }

  private mutating func readTable(_ cursor: inout DBCCursor) throws(SourceError) {
    let name = try cursor.name("the table's name")
    tables[name] = try labels(&cursor, of: name)
  }

  private func labels(_ cursor: inout DBCCursor, of name: String) throws(SourceError) -> [Int64: String] {
    var labels: [Int64: String] = [:]
    while !cursor.isAtEnd, !cursor.takes(";") {
      let value = try cursor.integer("a value of \(name)", in: Int64.min...Int64.max)
      labels[value] = try cursor.text("the name of the value \(value) of \(name)")
    }
    return labels
  }

  private mutating func readFormat(_ cursor: inout DBCCursor) throws(SourceError) {
    guard let (places, name) = try places(&cursor) else { return }
    _ = cursor.takes(":")
    let format = try cursor.integer("the value type of \(name)", in: 0...3)
    guard format > 0 else { return }
    for place in places {
      let length = database.messages[place.message].signals[place.signal].length
      if format < 3, length == 32 || length == 64 {
        database.messages[place.message].signals[place.signal].format = .float
      } else {
        database.messages[place.message].signals[place.signal].fault =
          "is floating point of \(length) bits; only 32 and 64 bits can be read"
      }
    }
  }

  private mutating func readMultiplexing(_ cursor: inout DBCCursor) throws(SourceError) {
    guard let (places, name) = try places(&cursor) else { return }
    let multiplexor = try cursor.name("the multiplexor of \(name)")
    do throws(SourceError) {
      let values = try cursor.ranges("the multiplexor values of \(name)")
      for place in places { multiplexing.values[place, default: [:]][multiplexor] = values }
    } catch {
      for place in places {
        database.messages[place.message].signals[place.signal].fault =
          "has multiplexor values that are not ranges"
      }
      throw error
    }
  }

  /// Returns the signals that a statement is about; nil if the file contains none of them.
  private func places(_ cursor: inout DBCCursor) throws(SourceError) -> ([SignalIndex], name: String)? {
    guard let raw = cursor.identifier() else { return nil }
    let name = try cursor.name("the signal's name")
    let identifier = CANFrame.Identifier(raw, isExtended: raw & 0x8000_0000 != 0)
    let places = (indices[identifier] ?? []).flatMap { message in
      database.messages[message].signals.indices.filter {
        database.messages[message].signals[$0].name == name
      }.map { SignalIndex(message: message, signal: $0) }
    }
    return places.isEmpty || raw == 0xC000_0000 ? nil : (places, name)
  }
}

extension DBCDatabase {
  /// - Parameters:
  ///   - bytes: content of the file, in UTF-8 or Windows-1252.
  ///   - name: the file's name in errors.
  /// - Throws: `SourceError` for a file that is too large or has no readable message.
  public init(parsing bytes: [UInt8], name: String) throws(SourceError) {
    var reader = DBCReader(name: name)
    self = try reader.read(bytes)
  }
}
