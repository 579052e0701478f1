import Recordings
import Sensors
import Spatial
import TestSupport
import Testing

@Suite struct CSVSensorRecordingTests {
  let scratch: ScratchFolder

  init() throws { scratch = try ScratchFolder() }

  private func recording(_ text: String) throws -> CSVSensorRecording {
    try CSVSensorRecording(path: scratch.write(text, to: "samples.csv"))
  }

  @Test func readsColumnsInAnyOrder() throws {
    let events = try events(
      of: recording(
        "temperature, gz,gy,gx,t,ax,ay,az,pressure,mx,my,mz\n# a comment\n21.5,3,2,1,0.5,0,0,9.80665,101325,30,0,-40\n"
          + ",,,,0.6,,,,1e5,,,\r\n\n"))
    let time = Timestamp(nanoseconds: 500_000_000)
    #expect(
      events == [
        .inertial([
          InertialScan(
            timestamp: time, specificForce: Vector3(0, 0, 9.80665), rotationRate: Vector3(1, 2, 3),
            magneticField: Vector3(30, 0, -40), temperature: 21.5)
        ]),
        .barometer([PressureData(timestamp: time, pressure: 101_325)]),
        // A block ends after 100 ms.
        .barometer([PressureData(timestamp: Timestamp(nanoseconds: 600_000_000), pressure: 100_000)]),
      ])
  }

  @Test func blocksAreBoundedInCountAndTime() throws {
    let rows = (0..<100).map { "\(Double($0) / 1000),1,2,3" } + (0..<5).map { "\(1 + $0),1,2,3" }
    let blocks = try events(of: recording("t,gx,gy,gz\n" + rows.joined(separator: "\n")))
    var counts: [Int] = []
    for case .inertial(let block) in blocks { counts.append(block.count) }
    #expect(counts == [20, 20, 20, 20, 20, 1, 1, 1, 1, 1])
  }

  @Test(arguments: [
    ("", nil, nil as String?), ("t\n0\n", 1, nil), ("ax,ay,az\n1,2,3\n", 1, "t"), ("t,ax,az\n", 1, "ay"),
    ("t,ax,ay,az,speed\n", 1, "speed"), ("t,t,ax,ay,az\n", 1, "t"), ("t,ax,ay,az\n0,1,nan,3\n", 2, "ay"),
    ("t,ax,ay,az\n0,1,2,inf\n", 2, "az"), ("t,ax,ay,az\n0,1,2,3\n1,1,two,3\n", 3, "ay"),
    ("t,ax,ay,az\n,1,2,3\n", 2, "t"), ("t,ax,ay,az\n0,1,2,3\n0.5,1,2,3\n0.4,1,2,3\n", 4, "t"),
    ("t,ax,ay,az\n0,1,2\n", 2, nil), ("t,ax,ay,az\n0,1,2,3,4\n", 2, nil), ("t,ax,ay,az\n0,1,,3\n", 2, "ay"),
    ("t,ax,ay,az\n1e300,1,2,3\n", 2, "t"), ("t,ax,ay,az\n0,0x10,2,3\n", 2, "ax"),
    ("t,ax,ay,az\n0,1e999,2,3\n", 2, "ax"),
    ("t;ax;ay;az\n", 1, "t;ax;ay;az"), ("T,ax,ay,az\n", 1, "T"),
  ])
  func brokenTablesNameLineAndColumn(text: String, line: Int?, column: String?) throws {
    let error = try #require(recordingError { try events(of: recording(text)) })
    #expect(error.line == line, "\(error)")
    #expect(error.column == column, "\(error)")
  }

  @Test func anUnknownColumnListsTheAcceptedOnes() throws {
    let error = try #require(recordingError { try events(of: recording("t,ax,ay,az,lat\n")) })
    #expect(error.description.contains("temperature") && error.description.contains("\"lat\"") == false)
    #expect(error.description.contains("column lat"))
  }

  @Test func sensorsWithoutDemandAreSkipped() throws {
    var recording = try self.recording("t,ax,ay,az,gx,gy,gz\n0,1,2,3,4,5,6\n1,1,2,3,4,5,6\n")
    recording.setDemand(.off, for: .accelerometer)
    let rotation = Vector3(4, 5, 6)
    #expect(
      try events(of: recording)
        == [0.0, 1].map { seconds in
          .inertial([InertialScan(timestamp: Timestamp(seconds: seconds), rotationRate: rotation)])
        })
  }

  @Test(.needs(.recordings("gnss-imu-drive"))) func aRealDriveIsReadWhole() throws {
    var recording = try CSVSensorRecording(path: Shared.file("data/gnss-imu-drive/imu.csv"))
    #expect(recording.kinds == [.accelerometer, .gyroscope])
    var counts: [SensorKind: Int] = [:]
    var last = Timestamp(nanoseconds: 0)
    while let event = try recording.next() {
      for kind in recording.kinds { counts[kind, default: 0] += event.count(of: kind) }
      for sample in event.scans {
        #expect(sample.timestamp > last)
        last = sample.timestamp
      }
    }
    #expect(counts[.accelerometer] == counts[.gyroscope])
    #expect((counts[.accelerometer] ?? 0) > 50_000)
  }
}
