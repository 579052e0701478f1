import Sensors
import SensorsIIO
import Testing

@Suite struct InventoryTests {
  @Test func unitsAndOrderOfOffsetAndScale() {
    #expect(LinearScale(offset: -10, scale: 0.5)(30) == 10)
    let factors = SensorKind.iioKinds.sorted().map(\.unitFactor)
    #expect(factors == [1, 1000, 1, 100, 0.001])
  }

  private static func plan(
    _ hertz: Double, _ latency: Double, isPolled: Bool, _ configuration: IIOConfiguration = IIOConfiguration()
  ) -> [Int] {
    let plan = BufferedCapture.Plan(
      hertz: hertz, latency: latency, isPolled: isPolled, configuration: configuration)
    return [plan.watermark, plan.blocks]
  }

  @Test func networkBlocksEndBeforeTheServerGivesUp() {
    #expect(Self.plan(100, 60, isPolled: false) == [125, 4])
    #expect(Self.plan(100, 0.1, isPolled: false) == [10, 20])
    #expect(Self.plan(100, 0, isPolled: false) == [1, 200])
    #expect(Self.plan(0.1, 1, isPolled: false) == [1, 4])
  }

  @Test func aLocalWatermarkFollowsTheLatency() {
    #expect(Self.plan(100, 0.1, isPolled: true) == [10, 20])
    #expect(Self.plan(100, 30, isPolled: true) == [3000, 4])
    #expect(Self.plan(1e12, 1e12, isPolled: true) == [65_536, 4])
    var configuration = IIOConfiguration()
    configuration.watermark = 7
    configuration.bufferLength = 50
    #expect(Self.plan(100, 1, isPolled: true, configuration) == [7, 7])
  }

  @Test func limitsApplyAndAnyNameMatches() {
    var configuration = IIOConfiguration(uri: "ip:host")
    configuration.minimumFrequency = 10
    configuration.maximumFrequency = 200
    #expect(
      configuration.limited(1) == 10 && configuration.limited(1000) == 200 && configuration.limited(50) == 50)
    for key in ["iio:device0", "chip", "roof"] {
      #expect(IIOConfiguration.matches(key, identifier: "iio:device0", name: "chip", label: "roof"))
    }
    #expect(!IIOConfiguration.matches("other", identifier: "iio:device0", name: nil, label: nil))
  }
}
