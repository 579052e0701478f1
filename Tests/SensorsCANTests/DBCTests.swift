import Sensors
import TestSupport
import Testing

@testable import SensorsCAN

/// The reader of DBC files: layout of signals, multiplexing, and statements that are skipped.
@Suite struct DBCTests {
  static let file = #"""
    VERSION "1.0"

    NS_ :
    	CM_
    	BA_DEF_
    	VAL_
    	SIG_VALTYPE_

    BS_:

    BU_: Engine Gateway

    BO_ 500 EngineData: 8 Engine
     SG_ Speed : 7|16@0+ (0.01,0) [0|655.35] "km/h" Gateway
     SG_ Temperature : 16|8@1- (1,-40) [-40|215] "°C" Gateway
     SG_ Page M : 24|4@1+ (1,0) [0|15] "" Gateway
     SG_ Odometer m1 : 32|32@1+ (0.1,0) [0|0] "km" Gateway
     SG_ Fuel m2 : 32|8@1+ (0.5,0) [0|100] "%" Gateway

    BO_ 2566844926 Extended_1: 8 Vector__XXX
     SG_ Ratio : 0|32@1- (1,0) [0|0] "" Vector__XXX

    BO_ 3221225472 VECTOR__INDEPENDENT_SIG_MSG: 0 Vector__XXX
     SG_ Unused : 0|8@1+ (1,0) [0|0] "" Vector__XXX

    CM_ BO_ 500 "A comment over lines
    BO_ 501 NoMessage: 8 Engine
     SG_ NoSignal : broken
    ends here";
    VAL_ 500 Page 1 "Distances" 2 "Levels \"of\" all" ;
    VAL_ SomeVariable 0 "x" ;
    SIG_VALTYPE_ 2566844926 Ratio : 1;
    """#

  private func read(_ text: String) throws(SourceError) -> DBCDatabase {
    try DBCDatabase(parsing: Array(text.utf8), name: "v.dbc")
  }

  @Test func messagesAndSignalsAreRead() throws {
    let database = try read(Self.file)
    #expect(database.messages.map(\.name) == ["EngineData", "Extended_1"])
    let engine = database.messages[0]
    #expect(engine.identifier == CANFrame.Identifier(500) && engine.length == 8 && engine.line == 13)
    #expect(database.messages[1].identifier == CANFrame.Identifier(0x18fe_f1fe, isExtended: true))
    #expect(engine.signals.map(\.name) == ["Speed", "Temperature", "Page", "Odometer", "Fuel"])
    let speed = engine.signals[0]
    #expect(speed.byteOrder == .big && speed.start == 7 && speed.length == 16 && speed.factor == 0.01)
    #expect(speed.unit == "km/h" && speed.range == 0...655.35 && speed.line == 14)
    #expect(engine.signals[1].format == .signed && engine.signals[1].offset == -40)
    #expect(engine.signals[1].unit == "°C")
    #expect(engine.signals[2].isMultiplexor)
    #expect(engine.signals[3].selection == DBCSignal.Selection(multiplexor: "Page", values: [1...1]))
    #expect(database.skipped.isEmpty)
    #expect(engine.signals[3].range == nil)
    #expect(engine.signals[2].labels == [1: "Distances", 2: #"Levels \"of\" all"#])
    #expect(database.messages[1].signals[0].format == .float)
  }

  @Test func signalsAreDecodedFromFrames() throws {
    let engine = try read(Self.file).messages[0]
    func value(_ name: String, _ data: [UInt8]) -> Double? {
      engine.signals.first { $0.name == name }.flatMap { signal in
        engine.rawValue(of: signal, in: data).map(signal.physical)
      }
    }
    let data: [UInt8] = [0x13, 0x88, 0xD8, 0x01, 0x10, 0x27, 0, 0]
    #expect(value("Speed", data) == 50)
    #expect(value("Temperature", data) == -80)
    #expect(value("Odometer", data) == 1000)
    // Signals of another multiplexor value, and a frame that is too short.
    #expect(value("Fuel", data) == nil)
    #expect(value("Fuel", [0, 0, 0, 2, 100]) == 50)
    #expect(value("Odometer", Array(data.prefix(5))) == nil)
    #expect(value("Speed", [0x13]) == nil)
  }

  @Test(arguments: [
    ("Page 1-1", [1...1, 1...1]), ("Page 1-1, 3-4", [1...1, 1...1, 3...4]), ("Other 2-2", [1...1]),
  ])
  func theValuesOfExtendedMultiplexingAreAdded(values: String, selected: [ClosedRange<UInt64>]) throws {
    let database = try read(
      Self.file + "\nSG_MUL_VAL_ 500 Odometer \(values);\nSG_MUL_VAL_ 500 Nothing Page 1-1;")
    #expect(database.messages[0].signals[3].selection?.values == selected)
    #expect(database.messages[0].signals[4].selection?.values == [2...2])
  }

  @Test func aFileInWindowsLettersIsRead() throws {
    let text = Self.file.utf8.map { $0 }
    // U+00B0 is C2 B0 in UTF-8, B0 alone in Windows-1252.
    let bytes = text.enumerated().filter { !($0.element == 0xC2 && text[$0.offset + 1] == 0xB0) }.map(
      \.element)
    let database = try DBCDatabase(parsing: bytes, name: "v.dbc")
    #expect(database.messages[0].signals[1].unit == "°C")
  }

  private static let signal = " SG_ S : 0|8@1+ (1,0) [0|0] \"\" E"

  /// A statement that is skipped, and its reason. The rest of the file is read.
  @Test(arguments: [
    ("BO_ x M: 8 E", "identifier"), ("BO_ 500", "name"), ("BO_ 500 M 8 E", "\":\""),
    ("BO_ 4096 M: 8 E", "11 bits"), ("BO_ 500 M: -1 E", "length"),
    ("BO_ 1 M: 8 E\n SG_ S : 0|0@1+ (1,0) [0|0] \"\" E", "from 1 to"),
    ("BO_ 1 M: 8 E\n SG_ S : 600000|8@1+ (1,0) [0|0] \"\" E", "from 0 to"),
    ("BO_ 1 M: 8 E\n SG_ S : 0|8@2+ (1,0) [0|0] \"\" E", "Motorola"),
    ("BO_ 1 M: 8 E\n SG_ S : 0|8@1+ (1 0) [0|0] \"\" E", "\",\" after the factor"),
    ("BO_ 1 M: 8 E\n SG_ S : 0|8@1+ (nan,0) [0|0] \"\" E", "the factor"),
    ("BO_ 1 M: 8 E\n SG_ S x : 0|8@1+ (1,0) [0|0] \"\" E", "as in m3"),
    ("BO_ 1 M: 8 E\n SG_ S : 0|8@1+ (1,0) [0|0] E", "the unit"),
    ("BO_ 1 M: 8 E\n\(signal)\nVAL_ 1 S 0 1 ;", "the name of the value 0 of S"),
    ("BO_ 1 M: 8 E\n\(signal)\nSIG_VALTYPE_ 1 S : 9;", "the value type"),
    ("BO_ 1 M: 8 E\n\(signal)\nSG_MUL_VAL_ 1 S M x;", "write ranges"),
    ("NONSENSE 1 2", "not a statement"), ("CM_ \"never ends", "closing quotation mark"),
  ])
  func aDamagedStatementIsSkippedWithItsReason(text: String, reason: String) throws {
    let database = try read("BO_ 2 Good: 8 E\n\(Self.signal);\n\(text)")
    #expect(database.signals(named: "Good.S").count == 1)
    let skip = try #require(database.skipped.first)
    #expect(database.skipped.count == 1 && "\(skip.error)".contains(reason), "\(skip.error)")
    #expect("\(skip.error)".hasPrefix("v.dbc:\(2 + text.split(separator: "\n").count):"), "\(skip.error)")
  }

  /// A damaged statement does not affect the next one.
  @Test(arguments: [
    "NONSENSE 1 2", "BO_ x M: 8 E", "BO_ 500", "BO_ 4096 M: 8 E",
    "BO_ 1 M: 8 E\n SG_ S : 0|8@2+ (1,0) [0|0] E",
    "BO_ 1 M: 8 E\n\(signal)\nVAL_ 1 S 0 1", "SG_MUL_VAL_", "CM_ BO_ 5", "VAL_TABLE_ T 0",
  ])
  func theStatementAfterADamagedOneIsRead(text: String) throws {
    let database = try read("\(text)\nBO_ 2 Good: 8 E\n\(Self.signal)")
    #expect(database.signals(named: "Good.S").count == 1)
    #expect(database.skipped.isEmpty == ["SG_MUL_VAL_", "CM_ BO_ 5"].contains(text), "\(database.skipped)")
  }

  @Test(arguments: ["", "VERSION \"1\"", "{\"class\": 3}", "BO_ 4096 M: 8 E"])
  func aFileWithoutAReadableMessageIsAnError(text: String) throws {
    #expect(throws: SourceError.self) { try read(text) }
  }

  /// Line ends are white space, and a statement needs no line of its own.
  @Test(arguments: ["\n", "\r\n", "\t", "\n // a comment \"\n"])
  func statementsSpanLines(space: String) throws {
    let text =
      #"BO_ 1 M : 8 E SG_ S : 0 | 16 @ 1 + ( 0.5 , 0 ) [ 0 | 9 ] "km/h" A , B SG_ T m1 : 16|8@1+ (1,0) [0|0] "" E"#
      + #" SG_ Mode M : 24|8@1+ (1,0) [0|0] "" E CM_ SG_ 1 S "text" ; VAL_ 1 S 3 "three" ; SG_MUL_VAL_ 1 T Mode 1-1 , 5-7 ;"#
    let plain = try read(text)
    var spread = try read(text.replacing(" ", with: space))
    #expect(plain.skipped.isEmpty && spread.skipped.isEmpty)
    for index in spread.messages[0].signals.indices {
      #expect(spread.messages[0].signals[index].line > 1 || space == "\t")
      spread.messages[0].signals[index].line = 1
    }
    spread.messages[0].line = 1
    #expect(plain == spread)
    #expect(plain.messages[0].signals.map(\.name) == ["S", "T", "Mode"])
    #expect(plain.messages[0].signals[1].selection?.values == [1...1, 1...1, 5...7])
  }

  @Test func labelsMayReferToATable() throws {
    let database = try read(
      "BO_ 1 M: 8 E\n\(Self.signal)\nVAL_ 1 S Gears;\nVAL_TABLE_ Gears 0 \"P\" 15 \"SNA\" ;")
    #expect(database.messages[0].signals[0].labels == [0: "P", 15: "SNA"] && database.skipped.isEmpty)
  }

  @Test(
    arguments: [
      ("-1.#INF|1.#INF", nil), ("-1.#INF|100", -Double.infinity...100), ("0|inf", 0...Double.infinity),
      ("1.#QNAN|nan", nil),
    ] as [(String, ClosedRange<Double>?)])
  func unlimitedRangesAreRead(text: String, range: ClosedRange<Double>?) throws {
    let database = try read("BO_ 1 M: 8 E\n SG_ S : 0|8@1+ (1,0) [\(text)] \"\" E")
    #expect(database.skipped.isEmpty)
    let found = database.messages[0].signals[0].range
    #expect(found == range || found == -Double.infinity...Double.infinity && range == nil)
  }

  @Test func aByteOrderMarkIsIgnored() throws {
    #expect(try read("\u{FEFF}BO_ 1 M: 8 E\n\(Self.signal)").messages.count == 1)
  }

  @Test func hostileInputIsReadOrRefused() throws {
    var random = SplitMix.announced()
    let original = Array(
      (Self.file + "\nSG_MUL_VAL_ 500 Odometer Page 1-1, 3-4;\nVAL_TABLE_ T 0 \"a\" ;\nVAL_ 500 Fuel T;").utf8
    )
    for _ in 0..<3000 {
      var bytes = original
      for _ in 0..<Int(random.next() % 8 + 1) {
        let place = Int(random.next() % UInt64(bytes.count))
        switch random.next() % 3 {
        case 0: bytes[place] = UInt8(truncatingIfNeeded: random.next())
        case 1: bytes.remove(at: place)
        default: bytes.insert(contentsOf: original[min(place, original.count)...].prefix(20), at: place)
        }
      }
      guard let database = try? DBCDatabase(parsing: bytes, name: "v.dbc") else { continue }
      for message in database.messages {
        for signal in message.signals {
          for length in [0, 1, 8, 64] {
            _ = message.rawValue(of: signal, in: [UInt8](repeating: 0xA5, count: length))
          }
        }
      }
    }
  }
}
