import TestSupport
import Testing

@testable import SensorsCAN

/// Our reader of DBC files: what it reads, and what it says of what it cannot.
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

  private func read(_ text: String) throws(CANError) -> DBCDatabase {
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
    #expect(engine.multiplexor?.name == "Page" && engine.signals[3].multiplexing == .multiplexed(1))
    #expect(engine.signals[3].range == nil)
    #expect(engine.signals[2].labels == [1: "Distances", 2: #"Levels \"of\" all"#])
    #expect(database.messages[1].signals[0].format == .float)
  }

  @Test func signalsAreTakenOutOfFrames() throws {
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
    // Other multiplexed signals, and a frame that is too short.
    #expect(value("Fuel", data) == nil)
    #expect(value("Fuel", [0, 0, 0, 2, 100]) == 50)
    #expect(value("Odometer", Array(data.prefix(5))) == nil)
    #expect(value("Speed", [0x13]) == nil)
  }

  /// A signal that hangs on another multiplexor than its message's, or on several of its values, is not taken for one of a single value.
  @Test(arguments: [("Page 1-1", false), ("Page 1-1, 3-4", true), ("Page 2-2", true), ("Other 1-1", true)])
  func extendedMultiplexingIsSeen(values: String, isExtended: Bool) throws {
    let database = try read(
      Self.file + "\nSG_MUL_VAL_ 500 Odometer \(values);\nSG_MUL_VAL_ 500 Nothing Page 1-1;")
    #expect(database.messages[0].signals[3].multiplexing == (isExtended ? .extended : .multiplexed(1)))
    #expect(database.messages[0].signals[4].multiplexing == .multiplexed(2))
  }

  @Test func aFileInWindowsLettersIsRead() throws {
    let text = Self.file.utf8.map { $0 }
    // U+00B0 is C2 B0 in UTF-8, B0 alone in Windows-1252.
    let bytes = text.enumerated().filter { !($0.element == 0xC2 && text[$0.offset + 1] == 0xB0) }.map(
      \.element)
    let database = try DBCDatabase(parsing: bytes, name: "v.dbc")
    #expect(database.messages[0].signals[1].unit == "°C")
  }

  /// A line that is wrong, and what its error says.
  @Test(arguments: [
    ("BO_ x M: 8 E", "identifier"), ("BO_ 500", "name"), ("BO_ 500 M 8 E", "\":\""),
    ("BO_ 4096 M: 8 E", "11 bits"), ("BO_ 500 M: -1 E", "length"),
    ("BO_ 1 M: 8 E\nBO_ 1 N: 8 E", "has the identifier of M in line 1"),
    ("BO_ 1 M: 8 E\n SG_ S : 0|65@1+ (1,0) [0|0] \"\" E", "from 1 to 64"),
    ("BO_ 1 M: 8 E\n SG_ S : 600|8@1+ (1,0) [0|0] \"\" E", "from 0 to 511"),
    ("BO_ 1 M: 8 E\n SG_ S : 0|8@2+ (1,0) [0|0] \"\" E", "Motorola"),
    ("BO_ 1 M: 8 E\n SG_ S : 0|8@1+ (1 0) [0|0] \"\" E", "\",\" after the factor"),
    ("BO_ 1 M: 8 E\n SG_ S : 0|8@1+ (nan,0) [0|0] \"\" E", "the factor"),
    ("BO_ 1 M: 8 E\n SG_ S x : 0|8@1+ (1,0) [0|0] \"\" E", "as in m3"),
    ("BO_ 1 M: 8 E\n SG_ S : 0|8@1+ (1,0) [0|0] E", "the unit"),
    ("BO_ 1 M: 8 E\n SG_ A M : 0|8@1+ (1,0) [0|0] \"\" E\n SG_ B M : 8|8@1+ (1,0) [0|0] \"\" E", "already"),
    ("BO_ 1 M: 8 E\n SG_ S : 0|8@1+ (1,0) [0|0] \"\" E\nVAL_ 1 S 0 1 ;", "what 0 of S is called"),
    ("BO_ 1 M: 8 E\n SG_ S : 0|8@1+ (1,0) [0|0] \"\" E\nSIG_VALTYPE_ 1 S : 1;", "32 (1) or 64"),
    ("BO_ 1 M: 8 E\nCM_ \"never ends", "never ends"), ("", "no message"), ("VERSION \"1\"", "no message"),
  ])
  func whatIsWrongIsNamedWithItsLine(text: String, says: String) throws {
    let error = #expect(throws: CANError.self) { try read(text) }
    let description = "\(try #require(error))"
    #expect(description.contains(says), "\(description)")
    if says != "no message" {
      let line = text.split(separator: "\n").count
      #expect(description.hasPrefix("v.dbc:\(line):"), "\(description)")
    }
  }

  @Test func hostileInputEndsInAnErrorOrARead() throws {
    var random = SplitMix.announced()
    let original = Array(Self.file.utf8)
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
