import Sensors
import Spatial
import Testing

@testable import SensorsGPSD

@Suite struct ReceiverAssistanceTests {
  private static let path = "/dev/ttyACM0"

  private func aid(at seconds: Double, accuracy: Double = 80, time: UTCTime? = nil) -> PositionAid {
    PositionAid(
      timestamp: Timestamp(seconds: seconds),
      coordinate: Coordinate(latitude: 48.1351234, longitude: -11.5820001),
      horizontalAccuracy: accuracy, time: time)
  }

  private func device(_ driver: String? = "u-blox", path: String = path, isActive: Bool = true) -> GPSDDevice
  {
    GPSDDevice(path: path, driver: driver, isActive: isActive)
  }

  private func fix(mode: Int) -> GPSDFix {
    var fix = GPSDFix()
    (fix.device, fix.mode) = (Self.path, mode)
    return fix
  }

  /// The bytes are those that pyubx2 1.2.50 writes for the same values.
  @Test func theFramesAreUBX() throws {
    let time = try #require(UTCTime(rfc3339: "2026-11-23T11:40:05.250Z"))
    let frames = UBloxAssistance.frames(aid(at: 0, time: time), age: 2)
    let text = frames.map { $0.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined() }
    #expect(
      text == [
        "b562134014000100000042d6b01c1fba18f900000000400d0300865a",
        "b5621340180010000080ea070b170b28070080b2e60e020000000000000070f8",
      ])
    #expect(UBloxAssistance.frames(aid(at: 0), age: 0).count == 1)
  }

  /// Table: what gpsd said, and how many frames follow an aid of second 10 at second 20.
  @Test func onlyWhoUnderstandsItAndHasNoFixIsTold() {
    func count(_ seen: (inout ReceiverAssistance) -> Void, only: String? = nil, at seconds: Double = 20)
      -> Int
    {
      var assistance = ReceiverAssistance(device: only)
      assistance.update(aid(at: 10))
      seen(&assistance)
      return assistance.requests(at: Timestamp(seconds: seconds)).count
    }
    #expect(count { $0.observe(device()) } == 1)
    #expect(count { _ in } == 0)
    #expect(count { $0.observe(device("NMEA0183")) } == 0)
    #expect(count { $0.observe(device(nil)) } == 0)
    #expect(count({ $0.observe(device()) }, only: "/dev/ttyS1") == 0)
    #expect(
      count {
        $0.observe(device())
        $0.observe(fix(mode: 3))
      } == 0)
    #expect(
      count {
        $0.observe(device())
        $0.observe(fix(mode: 3))
        $0.observe(fix(mode: 1))
      } == 1)
    #expect(
      count {
        $0.observe(device())
        $0.observe(device(isActive: false))
      } == 0)
    #expect(
      count {
        $0.observe(device())
        $0.reset()
      } == 0)
    #expect(
      count {
        $0.observe(device())
        $0.observe(device(path: "/dev/ttyACM1"))
      } == 2)
    // What is old tells nothing, nor does what lies ahead.
    #expect(count({ $0.observe(device()) }, at: 71) == 0 && count({ $0.observe(device()) }, at: 9) == 0)
    #expect(
      count {
        $0.observe(device())
        $0.update(aid(at: 15, accuracy: .nan))
      } == 1)
  }

  /// A receiver begins its search anew each time.
  @Test func itIsToldOnceAMinute() {
    var assistance = ReceiverAssistance(device: nil)
    assistance.observe(device())
    var told: [Int] = []
    for second in 0..<200 {
      assistance.update(aid(at: Double(second)))
      if !assistance.requests(at: Timestamp(seconds: Double(second))).isEmpty { told.append(second) }
    }
    #expect(told == [0, 60, 120, 180])
  }
}
