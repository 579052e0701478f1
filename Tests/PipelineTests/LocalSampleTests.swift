import Pipeline
import Sensors
import Spatial
import Testing

/// Samples for Swift programs on the same machine.
@Suite struct LocalSampleTests {
  private func pipeline() -> AgentPipeline {
    AgentPipeline(
      configuration: PipelineConfiguration(), start: Timestamp(seconds: 100),
      time: UTCTime(nanoseconds: 1_795_248_000_000_000_000), version: "1")
  }

  /// Samples for Swift programs power the sensors, even without a demand for positions and at rest.
  @Test func samplesPowerTheSensors() throws {
    var pipeline = pipeline()
    var demand = LocalDemand()
    demand.samples = [.accelerometer: .rate(hertz: 200, latency: .seconds(0.1))]
    _ = pipeline.drainDemands()
    pipeline.observe(demand)
    let demands = pipeline.drainDemands()
    #expect(demands?[.accelerometer] == .rate(hertz: 200, latency: .seconds(0.1)))
    #expect(pipeline.drainLocal().isEmpty)
    pipeline.observe(LocalDemand())
    let changed = pipeline.drainDemands()
    let after = try #require(changed)
    #expect(after[.accelerometer] != .rate(hertz: 200, latency: .seconds(0.1)))
  }

  @Test func sourcesFollowTheHardware() {
    var pipeline = pipeline()
    #expect(pipeline.localSources == LocalSources())
    func report(_ kinds: Set<SensorKind>, _ state: SourceStatus.State) {
      pipeline.process(
        .status(SourceStatus(timestamp: Timestamp(seconds: 101), source: "chip", kinds: kinds, state: state))
      ) { _ in }
    }
    report([.barometer], .idle)
    #expect(pipeline.localSources.sensors == [.barometer])
    report([.barometer], .unavailable(reason: "unplugged"))
    #expect(pipeline.localSources.sensors.isEmpty && pipeline.localSources.isLocationEnabled)
    report([.accelerometer, .gyroscope], .idle)
    #expect(pipeline.localSources.sensors == [.accelerometer, .gyroscope])
  }
}
