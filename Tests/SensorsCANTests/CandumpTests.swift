import Recordings
import Sensors
import SensorsCAN
import Spatial
import TestSupport
import Testing

/// Reader of candump's log files.
@Suite struct CandumpTests {
  private func line(_ text: String) -> CandumpLine? { CandumpLine(Array(text.utf8)[...]) }

  @Test func aClassicFrameIsReadWithItsTime() throws {
    let entry = try #require(line("(1436509052.249713) vcan0 044#2A366C2BBA"))
    #expect(entry.time.nanoseconds == 1_436_509_052_249_713_000 && entry.interface == "vcan0")
    #expect(
      entry.frame == CANFrame(CANFrame.Identifier(0x44), data: [0x2A, 0x36, 0x6C, 0x2B, 0xBA]))
  }

  /// A line, and its identifier, extended format, kind and data length.
  @Test(arguments: [
    ("(1.5) can0 1F334455#1122334455667788", 0x1F33_4455, true, CANFrame.Kind.data, 8),
    ("(1.5) can0 123#", 0x123, false, .data, 0), ("(1.5) can0 123#R8", 0x123, false, .remoteRequest, 0),
    ("(1.5) can0 123##5" + String(repeating: "AB", count: 64), 0x123, false, .data, 64),
    ("(1.5) can0 123#1122334455667788_E R", 0x123, false, .data, 8),
    ("(1.5) can0 20000040#0000000000000000", 0x40, true, .error, 8),
    ("(1) can0 123#ab T", 0x123, false, .data, 1),
  ])
  func everyFormIsRead(
    text: String, identifier: UInt32, isExtended: Bool, kind: CANFrame.Kind, length: Int
  ) throws {
    let frame = try #require(line(text)).frame
    #expect(frame.identifier.isExtended == isExtended && frame.kind == kind)
    #expect(frame.data.count == length)
    #expect(frame.identifier.rawValue & ~0x2000_0000 == identifier)
  }

  @Test(arguments: [
    "", "x", "(1.5)", "(1.5) can0", "1.5 can0 123#11", "(1.5) can0 123", "(1.5) can0 12#11",
    "(1.5) can0 800#11", "(1.5) can0 123#1", "(1.5) can0 123#112233445566778899", "(1.5) can0 123#GG",
    "(-1.5) can0 123#11", "(1.1234567890) can0 123#11", "(99999999999.0) can0 123#11", "(.5) can0 123#11",
    "(1.5) can0 123##", "(1.5) can0 3FFFFFFF#11x", "can0  123   [8]  11 22 33 44 55 66 77 88",
  ])
  func anythingElseIsNoLine(text: String) { #expect(line(text) == nil) }

  private static let speed = CANConfiguration(
    signals: [CANConfiguration.Signal(path: "Vehicle.Speed")], isJ1939: true)

  /// Returns a line with CCVS1 (50 km/h) at a time in seconds.
  private func frame(_ time: Double, _ interface: String = "can0") -> String {
    "(\(1_700_000_000 + Int(time)).\(Int(time * 10) % 10)00000) \(interface) 18FEF100#FF0032FFFFFFFFFF\n"
  }

  private func events(
    _ text: String, interface: String? = nil, zero: UTCTime? = nil
  ) throws -> [VehicleReading] {
    let directory = try TemporaryDirectory()
    let path = try directory.write("drive.log", text)
    var recording = try CandumpRecording(
      path: path, decoder: try CANDecoder(Self.speed), interface: interface, zero: zero)
    var readings: [VehicleReading] = []
    while let event = try recording.next() {
      if case .vehicle(let block) = event { readings += block }
    }
    return readings
  }

  @Test func aLogIsPlayedOnItsOwnTimeLine() throws {
    let readings = try events("# a comment\n\n" + frame(0) + frame(0.5) + frame(2))
    #expect(readings.map(\.timestamp.seconds) == [0, 0.5, 2])
    #expect(readings.allSatisfy { $0.value == .number(50) && $0.path == "Vehicle.Speed" })
  }

  @Test func aLogBesideATrackUsesItsCivilTime() throws {
    let zero = UTCTime(nanoseconds: 1_700_000_001_000_000_000)
    #expect(try events(frame(0) + frame(1) + frame(4), zero: zero).map(\.timestamp.seconds) == [0, 3])
  }

  @Test func oneInterfaceIsRead() throws {
    let text = frame(0, "can1") + frame(1, "can0") + frame(2, "can1")
    #expect(try events(text).map(\.timestamp.seconds) == [0, 2])
    #expect(try events(text, interface: "can0").map(\.timestamp.seconds) == [0])
  }

  @Test func backwardTimesRepeatTheLastTime() throws {
    #expect(try events(frame(0) + frame(5) + frame(3) + frame(6)).map(\.timestamp.seconds) == [0, 5, 6])
  }

  @Test func aDamagedLineIsReportedWithARemedy() throws {
    let error = #expect(throws: RecordingError.self) { try events(frame(0) + "(1.5) can0 12\n" + frame(2)) }
    #expect(error?.line == 2 && error?.remedy.contains("candump -l") == true)
    // A last line that was cut off is the end.
    #expect(try events(frame(0) + "(1.5) can0 12").count == 1)
    #expect(throws: RecordingError.self) { try events("") }
    #expect(throws: RecordingError.self) { try events(frame(0), interface: "can7") }
  }
}
