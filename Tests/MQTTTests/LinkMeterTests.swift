import MQTT
import Spatial
import Testing

@Suite struct LinkMeterTests {
  @Test func tailSeparatesBursts() {
    var meter = LinkMeter(tail: 10)
    func second(_ seconds: Double) -> Timestamp { Timestamp(seconds: seconds) }
    meter.begin()
    let steps: [(at: Double, carried: Int, isNew: Bool, bursts: Int, seconds: Double)] = [
      (0, 0, false, 0, 0), (1, 100, true, 1, 10), (1, 150, true, 1, 10), (5, 150, false, 1, 10),
      (6, 160, true, 1, 15), (16, 161, true, 1, 25), (27, 200, true, 2, 35),
    ]
    for step in steps {
      let isNew = meter.observe(carried: step.carried, at: second(step.at))
      #expect(isNew == step.isNew, "at \(step.at) s")
      #expect(meter.use.bursts == step.bursts && abs(meter.use.seconds - step.seconds) < 1e-9, "\(step)")
    }
    #expect(meter.use.bytes == 200)
    // Each connection counts from zero.
    meter.begin()
    let isNew = meter.observe(carried: 50, at: second(100))
    #expect(isNew)
    #expect(meter.use.bytes == 250 && meter.use.bursts == 3)
  }
}
