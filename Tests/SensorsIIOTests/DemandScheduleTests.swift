import Sensors
import SensorsIIO
import Testing

@Suite struct DemandScheduleTests {
  private static let second: Int64 = 1_000_000_000
  private static let all = SensorKind.iioKinds

  @Test func nothingIsWantedAtFirst() {
    let phase = DemandSchedule().phase(at: 0, kinds: Self.all, naturalHertz: 50)
    #expect(phase.kinds.isEmpty && phase.until == nil)
  }

  @Test func theFastestAndTheMostImpatientDemandCount() {
    var schedule = DemandSchedule()
    schedule.set(.rate(hertz: 100, latency: .milliseconds(200)), for: .accelerometer, at: 0)
    schedule.set(.rate(hertz: 25, latency: .milliseconds(50)), for: .gyroscope, at: 0)
    schedule.set(.rate(hertz: 10, latency: .zero), for: .barometer, at: 0)
    let phase = schedule.phase(at: 5, kinds: [.accelerometer, .gyroscope], naturalHertz: 50)
    #expect(phase.kinds == [.accelerometer, .gyroscope])
    #expect(phase.hertz == 100 && phase.latency == 0.05 && phase.until == nil)
    schedule.set(.off, for: .accelerometer, at: 6)
    #expect(schedule.phase(at: 7, kinds: [.accelerometer, .gyroscope], naturalHertz: 50).hertz == 25)
    #expect(schedule.wanted == [.gyroscope, .barometer])
  }

  @Test func aThermometerDoesNotSetThePace() {
    var schedule = DemandSchedule()
    schedule.set(.rate(hertz: 400, latency: .zero), for: .thermometer, at: 0)
    schedule.set(.rate(hertz: 50, latency: .milliseconds(100)), for: .gyroscope, at: 0)
    let phase = schedule.phase(at: 0, kinds: Self.all, naturalHertz: 50)
    #expect(phase.hertz == 50 && phase.latency == 0.1)
  }

  @Test(arguments: [
    (Int64(0), true, Int64(2)), (1, true, 2), (2, false, 10), (9, false, 10), (10, true, 12), (25, false, 30),
  ])
  func aDutyCycleIsOnThenOff(time: Int64, isOn: Bool, until: Int64) {
    var schedule = DemandSchedule()
    schedule.set(.dutyCycle(on: .seconds(2), period: .seconds(10)), for: .magnetometer, at: 100 * Self.second)
    // The same demand again does not start the cycle anew.
    schedule.set(.dutyCycle(on: .seconds(2), period: .seconds(10)), for: .magnetometer, at: 103 * Self.second)
    let phase = schedule.phase(at: (100 + time) * Self.second, kinds: Self.all, naturalHertz: 50)
    #expect(phase.kinds == (isOn ? [.magnetometer] : []))
    #expect(phase.until == (100 + until) * Self.second)
    if isOn { #expect(phase.hertz == 50) }
  }

  @Test func oddDemandsDoNoHarm() {
    var schedule = DemandSchedule()
    schedule.set(.dutyCycle(on: .seconds(2), period: .zero), for: .gyroscope, at: 0)
    schedule.set(.dutyCycle(on: .zero, period: .seconds(1)), for: .accelerometer, at: 0)
    schedule.set(.rate(hertz: .nan, latency: .seconds(1)), for: .magnetometer, at: 0)
    schedule.set(.rate(hertz: 10, latency: .seconds(Int64.max)), for: .barometer, at: 0)
    let phase = schedule.phase(at: 0, kinds: Self.all, naturalHertz: 50)
    #expect(phase.kinds == [.gyroscope, .barometer])
    #expect(phase.until == nil && phase.hertz == 50)
  }
}
