import Sensors
import SensorsIIO
import Spatial
import Testing

@Suite struct DemandScheduleTests {
  private static let all = SensorKind.iioKinds

  @Test func noDemandAtFirst() {
    let phase = DemandSchedule().phase(at: Timestamp(seconds: 0), kinds: Self.all, naturalHertz: 50)
    #expect(phase.kinds.isEmpty && phase.until == nil)
  }

  @Test func theHighestRateAndShortestLatencyApply() {
    var schedule = DemandSchedule()
    schedule.set(
      .rate(hertz: 100, latency: .milliseconds(200)), for: .accelerometer, at: Timestamp(seconds: 0))
    schedule.set(.rate(hertz: 25, latency: .milliseconds(50)), for: .gyroscope, at: Timestamp(seconds: 0))
    schedule.set(.rate(hertz: 10, latency: .zero), for: .barometer, at: Timestamp(seconds: 0))
    let phase = schedule.phase(
      at: Timestamp(seconds: 5), kinds: [.accelerometer, .gyroscope], naturalHertz: 50)
    #expect(phase.kinds == [.accelerometer, .gyroscope])
    #expect(phase.hertz == 100 && phase.latency == 0.05 && phase.until == nil)
    schedule.set(.off, for: .accelerometer, at: Timestamp(seconds: 6))
    #expect(
      schedule.phase(at: Timestamp(seconds: 7), kinds: [.accelerometer, .gyroscope], naturalHertz: 50).hertz
        == 25)
    #expect(schedule.wanted == [.gyroscope, .barometer])
  }

  @Test func aThermometerDoesNotSetThePace() {
    var schedule = DemandSchedule()
    schedule.set(.rate(hertz: 400, latency: .zero), for: .thermometer, at: Timestamp(seconds: 0))
    schedule.set(.rate(hertz: 50, latency: .milliseconds(100)), for: .gyroscope, at: Timestamp(seconds: 0))
    let phase = schedule.phase(at: Timestamp(seconds: 0), kinds: Self.all, naturalHertz: 50)
    #expect(phase.hertz == 50 && phase.latency == 0.1)
  }

  @Test(arguments: [
    (0.0, true, 2.0), (1, true, 2), (2, false, 10), (9, false, 10), (10, true, 12), (25, false, 30),
  ])
  func aDutyCycleIsOnThenOff(time: Double, isOn: Bool, until: Double) {
    var schedule = DemandSchedule()
    schedule.set(
      .dutyCycle(on: .seconds(2), period: .seconds(10)), for: .magnetometer, at: Timestamp(seconds: 100))
    // An unchanged demand does not restart the cycle.
    schedule.set(
      .dutyCycle(on: .seconds(2), period: .seconds(10)), for: .magnetometer, at: Timestamp(seconds: 103))
    let phase = schedule.phase(at: Timestamp(seconds: 100 + time), kinds: Self.all, naturalHertz: 50)
    #expect(phase.kinds == (isOn ? [.magnetometer] : []))
    #expect(phase.until == Timestamp(seconds: 100 + until))
    if isOn { #expect(phase.hertz == 50) }
  }

  @Test func invalidDemandsAreHandled() {
    var schedule = DemandSchedule()
    schedule.set(.dutyCycle(on: .seconds(2), period: .zero), for: .gyroscope, at: Timestamp(seconds: 0))
    schedule.set(.dutyCycle(on: .zero, period: .seconds(1)), for: .accelerometer, at: Timestamp(seconds: 0))
    schedule.set(.rate(hertz: .nan, latency: .seconds(1)), for: .magnetometer, at: Timestamp(seconds: 0))
    schedule.set(.rate(hertz: 10, latency: .seconds(Int64.max)), for: .barometer, at: Timestamp(seconds: 0))
    let phase = schedule.phase(at: Timestamp(seconds: 0), kinds: Self.all, naturalHertz: 50)
    #expect(phase.kinds == [.gyroscope, .barometer])
    #expect(phase.until == nil && phase.hertz == 50)
  }
}
