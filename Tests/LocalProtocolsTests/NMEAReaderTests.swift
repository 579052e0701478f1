import JSON
import LocalProtocols
import Recordings
import Sensors
import Simulation
import Spatial
import TestSupport
import Testing
import VehicleData

/// Other readers of the sentences: gpsd's driver (`gpsdecode`) and the reader of recordings.
@Suite struct NMEAReaderTests {
  private static let start = UTCTime(nanoseconds: 1_795_780_799_000_000_000)  // 2026-11-27T11:59:59Z

  /// Reports every 0.2 s, across minutes and hours.
  private func reports(_ count: Int, using generator: inout SeededGenerator) -> [LocalReport] {
    (0..<count).map { index in
      LocalReport.random(at: Self.start.advanced(bySeconds: Double(index) * 0.2), using: &generator)
    }
  }

  private func sentences(_ reports: [LocalReport]) -> [UInt8] {
    var bytes: [UInt8] = []
    for report in reports { NMEAWriter().encode(report, into: &bytes) }
    return bytes
  }

  /// Runs gpsd's driver and returns its last position report of each time.
  private func gpsdReads(_ bytes: [UInt8]) throws -> [UTCTime: [String: JSONValue]] {
    let folder = try ScratchFolder()
    let file = try folder.write(bytes, to: "sentences.nmea")
    let decoder = try ChildProcess("sh", ["-c", "exec gpsdecode < '\(file)'"])
    #expect(decoder.waitForExit() == 0, "\(decoder.output)")
    var reports: [UTCTime: [String: JSONValue]] = [:]
    for line in decoder.output.split(separator: "\r\n") where line.contains("\"TPV\"") {
      guard case .object(let members) = try JSONValue(parsing: Array(line.utf8)),
        case .string(let text)? = members["time"], let time = UTCTime(rfc3339: text)
      else { continue }
      reports[time] = members
    }
    return reports
  }

  private func number(_ value: JSONValue?) -> Double? {
    switch value {
    case .integer(let number)?: Double(number)
    case .number(let number)?: number
    default: nil
    }
  }

  @Test func gpsdReadsThePositions() throws {
    var generator = SeededGenerator.announced()
    let reports = reports(400, using: &generator)
    let read = try gpsdReads(sentences(reports))
    // gpsd needs two epochs to learn which sentence is the last one.
    #expect(read.count >= reports.count - 3)
    var compared = 0
    for report in reports {
      guard let time = report.time, let members = read[time], let location = report.location else { continue }
      let latitude = try #require(number(members["lat"]), "\(members)")
      let longitude = try #require(number(members["lon"]), "\(members)")
      let distance = location.coordinate.distance(to: Coordinate(latitude: latitude, longitude: longitude))
      #expect(distance < 0.1, "\(report)")
      #expect((members["status"] == .integer(5)) == report.isEstimated, "\(members)")
      if let speed = location.speed {
        #expect(abs(try #require(number(members["speed"]), "\(members)") - speed) < 0.01)
      }
      compared += 1
    }
    #expect(compared >= reports.count - 3)
  }

  /// gpsd's driver reads the satellites of four systems.
  @Test func gpsdReadsTheSatellites() throws {
    let satellites = [
      Satellite(
        identifier: 5, system: .gps, number: 5, elevation: 60, azimuth: 300, signal: 41, isUsed: true),
      Satellite(identifier: 9, system: .gps, number: 9, elevation: 20, azimuth: 90, signal: 33),
      Satellite(
        identifier: 72, system: .glonass, number: 8, elevation: 45, azimuth: 200, signal: 30, isUsed: true),
      Satellite(
        identifier: 311, system: .galileo, number: 11, elevation: 70, azimuth: 5, signal: 45, isUsed: true),
      Satellite(identifier: 46, system: .sbas, number: 133, elevation: 28, azimuth: 160, signal: 35),
    ]
    let receiver = LocalReceiver(
      satellitesUsed: 3, horizontalDilution: 0.8,
      sky: SatelliteSky(
        satellites: satellites, dilution: DilutionOfPrecision(horizontal: 0.8, vertical: 1.2, position: 1.5)))
    let location = Location(
      timestamp: Timestamp(nanoseconds: 0), coordinate: Coordinate(latitude: 48.5, longitude: -11.25))
    let reports = (0..<10).map { index in
      LocalReport(
        time: Self.start.advanced(bySeconds: Double(index)), location: PrivacyPolicy.unrestricted(location),
        receiver: receiver)
    }
    let folder = try ScratchFolder()
    let file = try folder.write(sentences(reports), to: "sentences.nmea")
    let decoder = try ChildProcess("sh", ["-c", "exec gpsdecode < '\(file)'"])
    #expect(decoder.waitForExit() == 0, "\(decoder.output)")
    let line = try #require(
      decoder.output.split(separator: "\r\n").last { $0.contains("\"SKY\"") && $0.contains("\"svid\"") })
    guard case .object(let sky) = try JSONValue(parsing: Array(line.utf8)),
      case .array(let list)? = sky["satellites"]
    else {
      Issue.record("\(line)")
      return
    }
    #expect(number(sky["pdop"]) == 1.5 && number(sky["vdop"]) == 1.2, "\(line)")
    #expect(list.count == satellites.count, "\(line)")
    for satellite in satellites {
      let read = list.first {
        number($0["gnssid"]) == satellite.system.map { Double($0.rawValue) }
          && number($0["svid"]) == satellite.number.map(Double.init)
      }
      #expect(
        number(read?["el"]) == satellite.elevation && number(read?["ss"]) == satellite.signal, "\(line)")
      // gpsd 3.22 does not mark a satellite of Galileo in a GSA with the talker GN as used.
      if satellite.system == .galileo { continue }
      #expect(read?["used"] == .bool(satellite.isUsed), "\(satellite) \(line)")
    }
  }

  @Test func gpsdReadsTunnelsAndGaps() throws {
    var location = Location(
      timestamp: Timestamp(nanoseconds: 0), coordinate: Coordinate(latitude: 48.5, longitude: -11.25))
    (location.altitude, location.speed, location.course) = (500, 20, 90)
    location.horizontalAccuracy = 5
    let shown = PrivacyPolicy.unrestricted(location)
    let reports = (0..<100).map { index in
      // Satellites, a tunnel, nothing, a tunnel without a start under open sky, satellites.
      let time = Self.start.advanced(bySeconds: Double(index))
      let isNone = (40..<60).contains(index)
      return LocalReport(
        time: time, location: isNone ? nil : shown, isEstimated: (20..<80).contains(index),
        receiver: LocalReceiver(satellitesUsed: 9, horizontalDilution: 0.8))
    }
    let read = try gpsdReads(sentences(reports))
    for (index, report) in reports.enumerated().dropFirst(3) {
      let members = read[try #require(report.time)]
      guard report.location != nil else {
        // gpsd may have no report without a fix, but none has a position.
        #expect(members?["lat"] == nil && (members == nil || members?["mode"] == .integer(1)), "\(index)")
        continue
      }
      #expect(members?["mode"] == .integer(3), "\(index): \(String(describing: members))")
      #expect((members?["status"] == .integer(5)) == report.isEstimated, "\(index)")
    }
  }

  @Test func theReaderOfRecordingsReadsThePositions() throws {
    var generator = SeededGenerator.announced()
    let reports = reports(300, using: &generator)
    let folder = try ScratchFolder()
    var recording = try NMEARecording(path: folder.write(sentences(reports), to: "sentences.nmea"))
    var fixes: [PositionFix] = []
    while let event = try recording.next() {
      if case .position(let block) = event { fixes += block }
    }
    #expect(recording.brokenSentenceCount == 0)
    try #require(fixes.count == reports.count)
    for (fix, report) in zip(fixes, reports) {
      let location = try #require(report.location)
      #expect(fix.time == report.time)
      #expect(try #require(fix.coordinate).distance(to: location.coordinate) < 0.1)
      #expect((fix.quality == .deadReckoning) == report.isEstimated)
      if let altitude = location.altitude {
        #expect(abs(try #require(fix.altitudeMeanSeaLevel) - altitude) < 0.01)
      }
    }
  }

  /// Qt discards a sentence whose status is V, so this includes dead reckoning.
  @Test func qtReadsPositionsInATunnel() throws {
    let program = """
      import sys
      from PyQt5.QtCore import QCoreApplication, QFile, QIODevice, QTimer
      from PyQt5.QtPositioning import QNmeaPositionInfoSource

      application = QCoreApplication(sys.argv)
      file = QFile(sys.argv[1])
      file.open(QIODevice.ReadOnly)
      source = QNmeaPositionInfoSource(QNmeaPositionInfoSource.SimulationMode)
      source.setDevice(file)

      def show(position):
          place = position.coordinate()
          print("%.6f %.6f %.1f" % (place.latitude(), place.longitude(), place.altitude()), flush=True)
          if place.latitude() > 48.50185:
              application.quit()

      source.positionUpdated.connect(show)
      source.startUpdates()
      QTimer.singleShot(60000, lambda: application.exit(1))
      sys.exit(application.exec_())
      """
    // Qt waits for the next epoch before it reports a position.
    let reports = (0..<21).map { index in
      var location = Location(
        timestamp: Timestamp(nanoseconds: 0),
        coordinate: Coordinate(latitude: 48.5 + Double(index) * 1e-4, longitude: -11.25))
      (location.altitude, location.speed) = (500, 20)
      return LocalReport(
        time: Self.start.advanced(bySeconds: Double(index) * 0.2),
        location: PrivacyPolicy.unrestricted(location),
        isEstimated: index >= 10)
    }
    let folder = try ScratchFolder()
    let file = try folder.write(sentences(reports), to: "sentences.nmea")
    let python = try ChildProcess("/usr/bin/python3", ["-c", program, file])
    #expect(python.waitForExit() == 0, "\(python.output)")
    #expect(python.output.contains("48.501900 -11.250000 500.0"), "\(python.output)")
  }

  @Test func extremeValuesKeepTheForm() {
    var generator = SeededGenerator.announced()
    for _ in 0..<20_000 {
      let time = UTCTime(nanoseconds: .random(in: .min ... .max, using: &generator))
      let bytes = sentences([LocalReport.random(at: time, isExtreme: true, using: &generator)])
      for line in bytes.split(separator: UInt8(ascii: "\n")) {
        // 82 characters with carriage return and line feed.
        #expect(
          line.count <= 81 && line.last == UInt8(ascii: "\r"), "\(String(decoding: line, as: UTF8.self))")
        let sum = line.dropFirst().prefix { $0 != UInt8(ascii: "*") }.reduce(0, ^)
        let hex = String(sum, radix: 16, uppercase: true)
        #expect(
          String(decoding: line.suffix(3).dropLast(), as: UTF8.self) == (hex.count == 1 ? "0" : "") + hex)
        let isPlain = line.dropLast().allSatisfy { byte in
          (0x41...0x5A).contains(byte) || (0x30...0x39).contains(byte) || "$*,.+-".utf8.contains(byte)
        }
        #expect(isPlain, "\(String(decoding: line, as: UTF8.self))")
      }
    }
  }
}
