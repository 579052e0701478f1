import SensorFixtures
import Sensors
import Spatial
import TestSupport
import Testing

/// The example programs on live hardware.
@Suite(.serialized, .timeLimit(.minutes(2))) struct ExampleProgramTests {
  /// Runs a program with line-buffered output.
  private func run(_ program: String, _ arguments: [String]) throws -> ChildProcess {
    try ChildProcess("stdbuf", ["-oL", BuiltProduct.path(program)] + arguments)
  }

  /// The sensor is powered only while the program runs.
  @Test func motionExampleReportsAttitude() throws {
    let server = try EmulatedIIOD()
    let program = try run("MotionExample", [server.uri])
    #expect(
      waitUntil { program.output.contains("heading 0° in xMagneticNorthZVertical") }, "\(program.output)")
    #expect(server.isCapturing(.gyroscope))
    program.terminate()
    #expect(waitUntil { !server.isCapturing(.gyroscope) })
  }

  @Test(.needs(.gpsd)) func locationExampleReportsLocationsAndFailures() throws {
    let vehicle = try LiveVehicle()
    let program = try run("LocationExample", ["gpsd://127.0.0.1:\(vehicle.receiver.port)"])
    #expect(waitUntil { program.output.contains("at 48.137") }, "\(program.output)")
    vehicle.drive(seconds: 60)
    #expect(waitUntil { program.output.split(separator: "\n").count >= 4 }, "\(program.output)")
    vehicle.receiver.stop()
    #expect(waitUntil { program.output.contains("no location: ") }, "\(program.output)")
    program.terminate()
  }

  @Test(.needs(.gpsd)) func regionsExampleReportsEntryAndExit() throws {
    let vehicle = try LiveVehicle()
    // At 300 m, even a loaded machine observes the vehicle outside first.
    let center = LiveVehicle.start.destination(distance: 300, bearing: 90)
    let program = try run(
      "RegionsExample",
      ["\(center.latitude)", "\(center.longitude)", "50", "gpsd://127.0.0.1:\(vehicle.receiver.port)"])
    #expect(waitUntil { vehicle.watches > 0 })
    vehicle.drive(seconds: 60)
    #expect(
      waitUntil { program.output.split(separator: "\n") == ["entered depot", "left depot"] },
      "\(program.output)")
    program.terminate()
  }
}
