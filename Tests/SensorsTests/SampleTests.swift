import Sensors
import Spatial
import Testing

@Suite struct SampleTests {
  @Test func aScanIsThinnedByTheDemandForEachOfItsSensors() throws {
    let force = Vector3(0, 0, standardGravity)
    let scans = (0..<10).map {
      InertialScan(
        timestamp: Timestamp(seconds: Double($0)), specificForce: force, rotationRate: .zero, temperature: 20)
    }
    var filter = DemandFilter()
    filter.setDemand(.off, for: .gyroscope)
    filter.setDemand(.rate(hertz: 0.2, latency: .zero), for: .thermometer)
    let admitted = filter.admit(.inertial(scans))
    let rest = try #require(admitted)
    #expect(rest.count(of: .accelerometer) == 10 && rest.count(of: .gyroscope) == 0)
    #expect(rest.count(of: .thermometer) == 2 && rest.count(of: .barometer) == 0)
    filter.setDemand(.off, for: .accelerometer)
    filter.setDemand(.off, for: .thermometer)
    let nothing = filter.admit(.inertial(scans))
    #expect(nothing == nil)
  }

  @Test func anEventsTimeIsThatOfItsNewestSample() {
    let block = [1, 2, 3].map { InertialScan(timestamp: Timestamp(nanoseconds: $0), rotationRate: .zero) }
    #expect(SensorEvent.inertial(block).timestamp == Timestamp(nanoseconds: 3))
    #expect(SensorEvent.inertial([]).timestamp == nil)
  }
}
