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

  private func fix(mode: Int, path: String = path) -> GPSDFix {
    var fix = GPSDFix()
    (fix.device, fix.mode) = (path, mode)
    return fix
  }

  /// Expected bytes from pyubx2 1.2.50 for the same values.
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

  /// Devices and fixes that gpsd reported, and the number of frames at second 20 for an aid of second 10.
  @Test func anAidIsSentOnlyToSupportedReceiversWithoutFix() {
    func count(
      _ devices: [GPSDDevice], _ fixes: [GPSDFix], only: String? = nil, at seconds: Double = 20,
      _ more: (inout ReceiverAssistance) -> Void = { _ in }
    ) -> Int {
      var assistance = ReceiverAssistance(device: only)
      assistance.update(aid(at: 10))
      for device in devices { assistance.observe(device) }
      for fix in fixes { assistance.observe(fix) }
      more(&assistance)
      return assistance.requests(at: Timestamp(seconds: seconds)).count
    }
    let (other, lost) = ("/dev/ttyACM1", fix(mode: 1))
    #expect(count([device()], [lost]) == 1)
    // The device or its fix is still unknown.
    #expect(count([device()], []) == 0 && count([], [lost]) == 0)
    #expect(count([device("NMEA0183")], [lost]) == 0 && count([device(nil)], [lost]) == 0)
    #expect(count([device()], [lost], only: "/dev/ttyS1") == 0)
    #expect(count([device()], [fix(mode: 3)]) == 0 && count([device()], [fix(mode: 3), lost]) == 1)
    #expect(count([device(), device(isActive: false)], [lost]) == 0)
    #expect(count([device()], [lost]) { $0.reset() } == 0)
    #expect(count([device(), device(path: other)], [lost, fix(mode: 1, path: other)]) == 2)
    // Aids that are too old, in the future or without a valid position are not sent.
    #expect(count([device()], [lost], at: 71) == 0 && count([device()], [lost], at: 9) == 0)
    #expect(count([device()], [lost]) { $0.update(aid(at: 15, accuracy: .nan)) } == 1)
  }

  /// An aid restarts the receiver's search, so it is sent at most every 10 minutes.
  @Test func anAidIsSentEveryTenMinutes() {
    var assistance = ReceiverAssistance(device: nil)
    assistance.observe(device())
    assistance.observe(fix(mode: 1))
    var told: [Int] = []
    for second in 0..<1300 {
      assistance.update(aid(at: Double(second)))
      if !assistance.requests(at: Timestamp(seconds: Double(second))).isEmpty { told.append(second) }
    }
    #expect(told == [0, 600, 1200])
  }
}
