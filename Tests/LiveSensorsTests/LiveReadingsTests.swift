import LiveSensors
import Motion
import Platform
import Positioning
import Sensors
import Spatial
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(1))) struct LiveReadingsTests {
  private func reading(_ speed: Double, at seconds: Double) -> VehicleReading {
    VehicleReading(timestamp: Timestamp(seconds: seconds), path: "Vehicle.Speed", value: .number(speed))
  }

  @Test func readingsOfTheBusReachTheConsumer() async throws {
    let source = TestSource([])
    let device = LiveDevice(sources: [source])
    let readings = device.vehicleReadings()
    try device.start()
    source.push(.vehicle([reading(30, at: 1), reading(31, at: 2)]))
    var speeds: [VehicleReading] = []
    for await reading in readings {
      speeds.append(reading)
      if speeds.count == 2 { break }
    }
    #expect(speeds == [reading(30, at: 1), reading(31, at: 2)])
    device.stop()
    var iterator = readings.makeAsyncIterator()
    #expect(await iterator.next() == nil)
  }

  @Test func radiosScanWhileThereIsAConsumer() async throws {
    let source = TestSource([.wifi])
    let device = LiveDevice(sources: [source])
    try device.start()
    do {
      let scans = device.radioScans(interval: 20)
      try await eventually { source.demand(.wifi) == .rate(hertz: 0.05, latency: .seconds(1)) }
      source.push(.radio([RadioScan(timestamp: Timestamp(seconds: 1), sightings: [], kind: .wifi)]))
      for await scan in scans {
        #expect(scan.timestamp == Timestamp(seconds: 1))
        break
      }
    }
    try await eventually { source.demand(.wifi) == .off }
    device.stop()
  }
}
