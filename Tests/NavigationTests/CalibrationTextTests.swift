import Bytes
import Navigation
import Sensors
import Simulation
import Spatial
import TestSupport
import Testing

/// Text format of a vehicle's stored calibration.
@Suite struct CalibrationTextTests {
  private static let calibration: NavigationCalibration? = {
    var generator = SeededGenerator(seed: 7)
    var filter = NavigationFilter()
    filter.play(SyntheticDrive(length: 200).samples(&generator))
    return filter.calibration
  }()

  @Test func roundTripsToTheLastDigit() throws {
    var kept = try #require(Self.calibration)
    #expect(kept.standing.seconds > 2 && kept.driving.seconds > 5 && kept.lastState?.altitude != nil)
    #expect(try NavigationCalibration(text: kept.text) == kept)
    kept.made = UTCTime(nanoseconds: 1_795_248_930_000_000_001)
    kept.lastState?.altitude = nil
    kept.lastState?.isStopped.toggle()
    #expect(try NavigationCalibration(text: kept.text) == kept)
  }

  @Test func everyDamagedByteIsDetected() throws {
    let bytes = Array(try #require(Self.calibration).text.utf8)
    for index in bytes.indices {
      var damaged = bytes
      damaged[index] ^= 0x04
      let text = String(decoding: damaged, as: UTF8.self)
      #expect(throws: StoredStateError.self, "byte \(index)") {
        try NavigationCalibration(text: text)
      }
    }
    for count in bytes.indices {
      let text = String(decoding: bytes.prefix(count), as: UTF8.self)
      #expect(throws: StoredStateError.self, "\(count) bytes") {
        try NavigationCalibration(text: text)
      }
    }
  }

  /// Errors in lines are reported with the line number, even if the checksum is valid.
  @Test(arguments: [
    ("stopped no\n", "", "stopped is missing"), ("stopped no", "stopped maybe", "needs yes or no"),
    ("axle-lever ", "axle-lever 1 ", "needs 1 values"), ("axle-lever ", "axle-lever x", "is no number"),
    ("axle-lever ", "axle-lever 1e9\n# ", "implausible numbers"),
    ("axle-lever ", "axle-lever nan\n# ", "nan is no number"),
    ("speed-scale ", "speed-scale 0\nspeed-scale ", "occurs twice"),
    ("odograph-navigation 1", "odograph-navigation 2", "not a navigation calibration of this version"),
    ("mounting ", "made soon\nmounting ", "nanoseconds since 1970"),
  ])
  func invalidLinesAreNamed(_ old: String, _ new: String, _ message: String) throws {
    var kept = try #require(Self.calibration)
    kept.lastState?.isStopped = false
    var body = kept.text.split(separator: "\n").dropLast().joined(separator: "\n") + "\n"
    let place = try #require(body.firstRange(of: old))
    body.replaceSubrange(place, with: new)
    let text = body + "crc \(String(CRC32.checksum(body.utf8), radix: 16))\n"
    let error = #expect(throws: StoredStateError.self) { try NavigationCalibration(text: text) }
    let description = try #require(error).description
    #expect(description.hasPrefix("line ") && description.contains(message), "\(description)")
    #expect(description.contains("to start again"))
  }

  /// Unknown lines, such as those of a later minor version, are skipped.
  @Test func unknownLinesAreSkipped() throws {
    let kept = try #require(Self.calibration)
    let body =
      kept.text.split(separator: "\n").dropLast().joined(separator: "\n") + "\nwheel-radius 0.3 0.3\n"
    let text = body + "crc \(String(CRC32.checksum(body.utf8), radix: 16))\n"
    #expect(try NavigationCalibration(text: text) == kept)
  }
}
