import Sensors
import Spatial
import Testing

@Suite struct SampleTests {
  @Test func aScanIsReducedToTheDemandOfEachSensor() throws {
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

  /// Seconds of sleep, and of the following search without fixes.
  @Test(arguments: [(10, 2), (59, 2), (60, 6), (5399, 6), (5400, 35)])
  func aReceiverOfARecordingSearchesAfterItsSleep(sleep: Int, search: Int) {
    var filter = DemandFilter(fixDelay: FixDelay())
    func fix(_ second: Int) -> SensorEvent {
      .position([PositionFix(timestamp: Timestamp(seconds: Double(second)), mode: .threeDimensional)])
    }
    func admits(_ second: Int) -> Bool { filter.admit(fix(second)) != nil }
    filter.setDemand(.rate(hertz: 1, latency: .seconds(1)), for: .positioning)
    #expect(admits(0) && admits(1))
    filter.setDemand(.off, for: .positioning)
    for second in 2...(1 + sleep) { #expect(!admits(second)) }
    filter.setDemand(.rate(hertz: 1, latency: .seconds(10)), for: .positioning)
    // A change of the latency does not restart the search.
    filter.setDemand(.rate(hertz: 1, latency: .seconds(1)), for: .positioning)
    for second in 1...search { #expect(admits(1 + sleep + second) == (second == search)) }
    #expect(admits(2 + sleep + search))
  }

  @Test func anEventsTimeIsThatOfItsNewestSample() {
    let block = [1, 2, 3].map { InertialScan(timestamp: Timestamp(nanoseconds: $0), rotationRate: .zero) }
    #expect(SensorEvent.inertial(block).timestamp == Timestamp(nanoseconds: 3))
    #expect(SensorEvent.inertial([]).timestamp == nil)
  }
}
