import Sensors
import Spatial
import Testing

@Suite struct SampleTests {
  @Test func flatDeviceReadsMinusOneG() {
    let sample = AccelerometerData(
      timestamp: Timestamp(nanoseconds: 0), specificForce: Vector3(0, 0, standardGravity))
    #expect(sample.acceleration == Vector3(0, 0, -1))
    #expect(sample.specificForce == Vector3(0, 0, standardGravity))
  }

  @Test func anEventsTimeIsThatOfItsNewestSample() {
    let block = [1, 2, 3].map { GyroData(timestamp: Timestamp(nanoseconds: $0), rotationRate: .zero) }
    #expect(SensorEvent.gyroscope(block).timestamp == Timestamp(nanoseconds: 3))
    #expect(SensorEvent.gyroscope([]).timestamp == nil)
  }
}
