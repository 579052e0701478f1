import Sensors
import SensorsCAN
import Spatial
import TestSupport
import Testing

/// Mapping of signals to their sources and units, and derived signals.
@Suite struct SignalTests {
  private static let file = """
    BO_ 256 Engine: 8 E
     SG_ Speed : 0|16@1+ (0.01,0) [0|300] "m/s" E
     SG_ Ignition : 16|3@1+ (1,0) [0|0] "" E
     SG_ Gear : 19|4@1+ (1,-1) [0|0] "" E
     SG_ Weight : 24|8@1+ (10,0) [0|0] "bananas" E
     SG_ Heat : 32|8@1+ (1,0) [0|0] "K" E
     SG_ Revolutions : 40|16@1+ (1,0) [0|8000] "1/min" E

    BO_ 257 Other: 2 E
     SG_ Speed : 0|16@1+ (1,0) [0|0] "km/h" E
     SG_ Signed : 0|8@1- (1,0) [0|0] "km/h" E
     SG_ Far : 8|16@1+ (1,0) [0|0] "km" E
     SG_ Alone m3 : 0|8@1+ (1,0) [0|0] "" E

    VAL_ 256 Ignition 0 "KL15 OFF" 1 "ACC" 2 "Ignition_On" 3 "CRANKING" 7 "SNA" ;
    VAL_ 256 Gear 15 "SNA" ;
    """

  private func decoder(
    _ signals: [String], j1939: Bool = false, obd: OBDAddressing? = nil
  ) throws -> CANDecoder {
    let wanted = try signals.map { try #require(CANConfiguration.Signal(parsing: $0)) }
    return try CANDecoder(
      CANConfiguration(database: "v.dbc", signals: wanted, isJ1939: j1939, diagnostics: obd),
      database: try DBCDatabase(parsing: Array(Self.file.utf8), name: "v.dbc"))
  }

  private func read(
    _ decoder: inout CANDecoder, _ data: [UInt8], at seconds: Double = 0
  ) -> [String: VehicleReading.Value?] {
    let frame = CANFrame(CANFrame.Identifier(256), data: data)
    var values: [String: VehicleReading.Value?] = [:]
    for reading in decoder.process(frame, at: Timestamp(seconds: seconds)) {
      values[reading.path] = .some(reading.value)
    }
    return values
  }

  @Test func valuesAreConvertedToVSSUnits() throws {
    var decoder = try decoder([
      "Vehicle.Speed = Engine.Speed", "Vehicle.Powertrain.CombustionEngine.ECT = Heat",
      "Vehicle.Powertrain.CombustionEngine.Speed = Revolutions",
    ])
    let values = read(&decoder, [0xE8, 0x03, 0, 0, 200, 0x20, 0x03, 0])
    #expect(values["Vehicle.Speed"] == .number(36))
    guard case .number(let heat)?? = values["Vehicle.Powertrain.CombustionEngine.ECT"] else {
      Issue.record("\(values)")
      return
    }
    #expect(abs(heat + 73.15) < 1e-9)
    #expect(values["Vehicle.Powertrain.CombustionEngine.Speed"] == .number(800))
  }

  @Test func valuesOutOfRangeAreUnknown() throws {
    var decoder = try decoder([
      "Vehicle.Powertrain.CombustionEngine.Speed = Revolutions",
      "Vehicle.Powertrain.Transmission.CurrentGear = Gear",
    ])
    let values = read(&decoder, [0, 0, 0x78, 0, 0, 0xFF, 0xFF, 0])
    #expect(values["Vehicle.Powertrain.CombustionEngine.Speed"] == .some(nil))
    #expect(values["Vehicle.Powertrain.Transmission.CurrentGear"] == .some(nil))
    #expect(
      read(&decoder, [0, 0, 0x10, 0, 0, 0, 0, 0], at: 1)["Vehicle.Powertrain.Transmission.CurrentGear"]
        == .number(1))
  }

  @Test(arguments: [(0, "OFF"), (1, "ACC"), (2, "ON"), (3, "START")])
  func statesHaveTheNamesOfTheSpecification(raw: UInt8, name: String) throws {
    var decoder = try decoder(["Vehicle.LowVoltageSystemState = Ignition"])
    #expect(read(&decoder, [0, 0, raw, 0, 0, 0, 0, 0])["Vehicle.LowVoltageSystemState"] == .text(name))
  }

  @Test func aPathOfTheFileOnlyIsReportedUnchanged() throws {
    var decoder = try decoder(["Vehicle.Private.Weight = Weight"])
    #expect(read(&decoder, [0, 0, 0, 7, 0, 0, 0, 0])["Vehicle.Private.Weight"] == .number(70))
  }

  /// A signal setting, and a part of its error message.
  @Test(arguments: [
    ("Vehicle.Speed = Velocity", "no signal Velocity"),
    ("Vehicle.Speed = Speed", "in the messages Engine (line 1), Other (line 9)"),
    ("Vehicle.Speed = Weight", "cannot be converted to km/h"),
    ("Vehicle.Speed = Other.Far", "beyond the 2 bytes"),
    ("Vehicle.Speed = Alone", "has no multiplexor"),
    ("Vehicle.Private.Weight", "can.dbc"), ("Vehicle.Speed", "can.j1939"),
    ("Vehicle.Sped", "did you mean Vehicle.Speed? Otherwise name its signal in can.dbc"),
    ("Vehicle.TravelledDistance", "did you mean Vehicle.TraveledDistance?"),
  ])
  func unavailableSignalsAreReportedWithARemedy(signal: String, says: String) throws {
    let error = #expect(throws: SourceError.self) { try decoder([signal]) }
    #expect("\(try #require(error))".contains(says), "\(String(describing: error))")
  }

  @Test func aPathIsNamedOnce() {
    #expect(throws: SourceError.self) {
      try decoder(["Vehicle.Speed = Engine.Speed", "Vehicle.Speed = Other.Speed"])
    }
  }

  @Test(
    arguments: [
      ("Vehicle.Speed", "Vehicle.Speed", nil), ("Vehicle.Speed=A.B", "Vehicle.Speed", "A.B"),
      ("Vehicle.Speed =  A ", "Vehicle.Speed", "A"),
    ] as [(String, String, String?)])
  func signalSettingsAreParsed(text: String, path: String, source: String?) {
    #expect(CANConfiguration.Signal(parsing: text) == CANConfiguration.Signal(path: path, source: source))
  }

  @Test(arguments: [
    "", "Speed", "Vehicle", "Vehicle.", "vehicle.Speed", "Vehicle.Speed =", "Vehicle. = A", "= A",
  ])
  func invalidSignalsAreRefused(text: String) { #expect(CANConfiguration.Signal(parsing: text) == nil) }

  @Test func aFilePrecedesJ1939WhichPrecedesRequests() throws {
    let decoder = try decoder(
      ["Vehicle.Speed = Engine.Speed", "Vehicle.TraveledDistance", "Vehicle.OBD.RunTime"], j1939: true,
      obd: .standard)
    #expect(!decoder.filters.contains { $0.admits(CANFrame.Identifier(0x18FE_F100, isExtended: true)) })
    #expect(decoder.filters.contains { $0.admits(CANFrame.Identifier(0x18FE_C1EE, isExtended: true)) })
    #expect(decoder.filters.contains { $0.admits(CANFrame.Identifier(256)) })
    #expect(!decoder.filters.contains { $0.admits(CANFrame.Identifier(257)) })
    var requester = try #require(decoder.requester)
    let frame = requester.advance(to: Timestamp(seconds: 1), isBusAwake: false, voltage: 14)
    #expect(frame?.data[2] == 0x1F)
  }

  @Test func numbersAreReportedAtTenHertzAtMost() throws {
    var decoder = try decoder(["Vehicle.Speed = Engine.Speed"])
    let count = (0..<1000).count {
      !read(&decoder, [100, 0, 0, 0, 0, 0, 0, 0], at: Double($0) * 0.01).isEmpty
    }
    #expect((95...105).contains(count))
  }

  // MARK: Derived signals

  private static let derived = [
    "Vehicle.IsMoving", "Vehicle.Powertrain.CombustionEngine.IsRunning", "Vehicle.LowVoltageSystemState",
  ]

  @Test func ignitionAndMotionAreDerivedFromSpeeds() throws {
    var decoder = try decoder(
      Self.derived + [
        "Vehicle.Speed = Engine.Speed", "Vehicle.Powertrain.CombustionEngine.Speed = Revolutions",
      ])
    var values = read(&decoder, [0, 0, 0, 0, 0, 0, 0, 0])
    #expect(
      values["Vehicle.IsMoving"] == .flag(false) && values["Vehicle.LowVoltageSystemState"] == .text("ACC"))
    values = read(&decoder, [0, 0, 0, 0, 0, 0x20, 0x03, 0], at: 1)
    #expect(values["Vehicle.Powertrain.CombustionEngine.IsRunning"] == .flag(true))
    #expect(values["Vehicle.LowVoltageSystemState"] == .text("ON"))
    #expect(read(&decoder, [0xE8, 0x03, 0, 0, 0, 0x20, 0x03, 0], at: 2)["Vehicle.IsMoving"] == .flag(true))
    // An engine that stops at a traffic light leaves the ignition on. Unchanged values are not reported again.
    values = read(&decoder, [0, 0, 0, 0, 0, 0, 0, 0], at: 3)
    #expect(values["Vehicle.Powertrain.CombustionEngine.IsRunning"] == .flag(false))
    #expect(values["Vehicle.LowVoltageSystemState"] == nil)
    #expect(decoder.nextDeadline == Timestamp(seconds: 13))
    #expect(decoder.advance(to: Timestamp(seconds: 12)).isEmpty)
    let silent = decoder.advance(to: Timestamp(seconds: 13.5))
    #expect(silent.first { $0.path == "Vehicle.LowVoltageSystemState" }?.value == .text("OFF"))
    #expect(silent.allSatisfy { $0.origin == .derived && $0.timestamp == Timestamp(seconds: 13) })
    #expect(decoder.nextDeadline == nil)
  }

  @Test func reversingVehiclesMove() throws {
    var decoder = try decoder(["Vehicle.IsMoving", "Vehicle.Speed = Other.Signed"])
    let frame = CANFrame(CANFrame.Identifier(257), data: [0xFB, 0])
    let moving = decoder.process(frame, at: Timestamp(seconds: 0)).first { $0.path == "Vehicle.IsMoving" }
    #expect(moving?.value == .flag(true))
  }

  /// With requests every 40 s, the ignition is not reported as off in between.
  @Test func silenceBetweenRequestsDoesNotEndTheIgnition() throws {
    var decoder = try decoder(Self.derived + ["Vehicle.Speed = Engine.Speed"])
    decoder.observe(requestInterval: 40)
    #expect(read(&decoder, [0, 0, 0, 0, 0, 0, 0, 0])["Vehicle.LowVoltageSystemState"] == .text("ACC"))
    #expect(decoder.advance(to: Timestamp(seconds: 49)).isEmpty)
    #expect(decoder.advance(to: Timestamp(seconds: 51)).contains { $0.value == .text("OFF") })
  }

  @Test func valuesOfTheFileAreNotDerived() throws {
    var decoder = try decoder(["Vehicle.LowVoltageSystemState = Ignition", "Vehicle.Speed = Engine.Speed"])
    #expect(read(&decoder, [0xE8, 0x03, 0, 0, 0, 0, 0, 0])["Vehicle.LowVoltageSystemState"] == .text("OFF"))
  }

  // MARK: External files

  private static let needed = "BO_ 256 Chassis: 8 E\n SG_ Speed : 0|16@1+ (0.01,0) [0|655.35] \"km/h\" E\n"
  private static let switched =
    "BO_ 256 Chassis: 8 E\n SG_ Mode M : 56|8@1+ (1,0) [0|0] \"\" E\n SG_ Speed m0 : 0|16@1+ (0.01,0) [0|0] \"km/h\" E\n"

  private func speed(_ file: String, _ data: [UInt8] = [0x20, 0x1C, 0, 0, 0, 0, 0, 0]) throws -> Double? {
    let signal = try #require(CANConfiguration.Signal(parsing: "Vehicle.Speed = Chassis.Speed"))
    var decoder = try CANDecoder(
      CANConfiguration(database: "v.dbc", signals: [signal]),
      database: try DBCDatabase(parsing: Array(file.utf8), name: "v.dbc"))
    let readings = decoder.process(
      CANFrame(CANFrame.Identifier(256), data: data), at: Timestamp(seconds: 0))
    guard case .number(let value)? = readings.first?.value else { return nil }
    return value
  }

  /// Files with unusual or damaged parts, in which the requested signal is readable.
  @Test(arguments: [
    needed
      + "BO_ 2566843134 VI: 200 E\n SG_ Vin : 0|1600@1+ (1,0) [0|0] \"\" E\n SG_ Far : 1200|8@1+ (1,0) [0|0] \"\" E\n",
    needed
      + "BO_ 300 Mux: 8 E\n SG_ M1 M : 0|4@1+ (1,0) [0|0] \"\" E\n SG_ M2 M : 4|4@1+ (1,0) [0|0] \"\" E\n",
    needed + "BO_ 4096 Bad: 8 E\n SG_ Speed : 0|8@1+ (1,0) [0|0] \"\" E\n",
    needed + "BO_ 256 Twin: 8 E\n SG_ Other : 0|8@1+ (1,0) [0|0] \"\" E\n", needed + needed,
    needed + "VAL_ 256 Speed Table;\nVAL_TABLE_ Table 65535 \"SNA\" ;\n",
    needed.replacing("[0|655.35]", with: "[-1.#INF|1.#INF]"), needed.replacing(" [", with: "\n   ["),
    switched, switched + "SG_MUL_VAL_ 256 Speed Mode 0-0, 2-4;\n",
    switched + " SG_ Speed m1 : 16|16@1+ (0.01,0) [0|0] \"km/h\" E\n",
  ])
  func aSignalIsReadWhateverElseIsInTheFile(file: String) throws {
    #expect(try speed(file) == 72)
  }

  /// The multiplexor value of a frame selects the branch of its signal.
  @Test func aNameInExclusiveBranchesIsReadOfEach() throws {
    let file = Self.switched + " SG_ Speed m1 : 16|16@1+ (0.1,0) [0|0] \"m/s\" E\n"
    #expect(try speed(file, [0x20, 0x1C, 10, 0, 0, 0, 0, 0]) == 72)
    #expect(try speed(file, [0x20, 0x1C, 10, 0, 0, 0, 0, 1]) == 3.6)
    #expect(try speed(file, [0x20, 0x1C, 10, 0, 0, 0, 0, 2]) == nil)
  }

  @Test func rangesAndNestedMultiplexorsSelectASignal() throws {
    let file = """
      BO_ 256 Chassis: 8 E
       SG_ Top M : 56|8@1+ (1,0) [0|0] "" E
       SG_ Mode m3M : 48|8@1- (1,0) [0|0] "" E
       SG_ Speed m1 : 0|16@1+ (0.01,0) [0|0] "km/h" E
      SG_MUL_VAL_ 256 Mode Top 3-4;
      SG_MUL_VAL_ 256 Speed Mode 1-1, 100-127;
      """
    for (mode, top, isRead) in [
      (1, 3, true), (1, 4, true), (127, 3, true), (1, 5, false), (2, 3, false), (0xFF, 3, false),
    ] as [(UInt8, UInt8, Bool)] {
      #expect(try (speed(file, [0x20, 0x1C, 0, 0, 0, 0, mode, top]) == 72) == isRead, "\(mode) \(top)")
    }
  }

  /// An unreadable signal that is required is refused with its line and reason.
  @Test(arguments: [
    (
      "BO_ 256 Chassis: 200 E\n SG_ Speed : 0|1600@1+ (1,0) [0|0] \"\" E",
      "v.dbc:2: signal Speed has 1600 bits"
    ),
    ("BO_ 256 Chassis: 200 E\n SG_ Speed : 0|16@1+ (1,0) [0|0] \"\" E", "has 200 bytes; a frame carries 64"),
    (
      "BO_ 4096 Chassis: 8 E\n SG_ Speed : 0|8@1+ (1,0) [0|0] \"\" E\nBO_ 1 M: 8 E",
      "v.dbc:1: message Chassis"
    ),
    ("BO_ 256 Chassis: 8 E\n SG_ Speed : 0|8@7+ (1,0) [0|0] \"\" E", "v.dbc:2: the byte order"),
    ("BO_ 256 Chassis: 8 E\n SG_ Speed : 0|16@1+ (1,0) [0|0] \"\" E\nSIG_VALTYPE_ 256 Speed : 1;", "16 bits"),
    (switched + " SG_ Speed m0 : 16|16@1+ (1,0) [0|0] \"\" E", "twice in one frame"),
    (needed + "BO_ 257 Chassis: 8 E\n SG_ Speed : 0|8@1+ (1,0) [0|0] \"\" E", "rename or delete"),
    (
      "BO_ 256 Chassis: 8 E\n SG_ A M : 0|8@1+ (1,0) [0|0] \"\" E\n SG_ B M : 8|8@1+ (1,0) [0|0] \"\" E\n"
        + " SG_ Speed m1 : 16|8@1+ (1,0) [0|0] \"\" E", "no SG_MUL_VAL_ names one"
    ),
    (switched + "SG_MUL_VAL_ 256 Speed Mode zero;\n", "values that are not ranges"),
  ])
  func aNeededSignalThatIsUnreadableIsRefused(file: String, reason: String) throws {
    let error = #expect(throws: (any Error).self) { try speed(file) }
    #expect("\(try #require(error))".contains(reason), "\(String(describing: error))")
  }
}
