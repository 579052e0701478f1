import LiveSensors
import Sensors
import SensorsGPSD
import SensorsIIO
import Simulation
import Testing

@Suite struct SensorInputTests {
  @Test func wordsOfACommandLine() throws {
    let table: [([String], SensorInput)] = [
      (["gpsd://127.0.0.1:2948"], .gpsd(GPSDAddress(port: 2948))),
      (["gpsd://gps.local"], .gpsd(GPSDAddress(host: "gps.local"))),
      (["gpsd://[::1]:2948"], .gpsd(GPSDAddress(host: "::1", port: 2948))),
      (["local:"], .iio()),
      (
        ["ip:10.0.0.2", "gpsd://h"],
        .hardware(
          SensorInput.Hardware(
            gpsd: GPSDAddress(host: "h"), iio: [IIOConfiguration(uri: "ip:10.0.0.2")]))
      ),
      (
        ["a/drive.NMEA", "a/drive.csv"],
        .recording(SensorInput.Recording(position: "a/drive.NMEA", sensors: "a/drive.csv"))
      ),
      (["agent"], .agent()),
      (["agent:/run/a.socket"], .agent(AgentAddress(path: "/run/a.socket"))),
      (["simulation"], .simulation(SimulatedDrive.Configuration())),
    ]
    for (words, input) in table { #expect(try SensorInput(parsing: words) == input, "\(words)") }
  }

  @Test(arguments: [
    ["drive.mp3"], ["gpsd://"], ["gpsd://h:0"], ["gpsd://h:x"], ["gpsd://h/x"], ["gpsd://[::1"], [],
    ["simulation", "gpsd://h"], ["drive.gpx", "local:"], ["agent", "local:"], ["agent", "agent:x"],
  ])
  func invalidInputIsRejectedWithAHint(words: [String]) throws {
    let error = try #require(throws: SourceError.self) { try SensorInput(parsing: words) }
    #expect(!error.place.isEmpty && !error.remedy.isEmpty)
  }
}
