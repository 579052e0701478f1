internal import LiveSensors
internal import Sensors
internal import Spatial

extension SensorFeed {
  /// Creates the sources of a configuration. Missing hardware is not an error here: its source reports it and
  /// retries.
  ///
  /// - Parameter location: replaces the positions of recorded and simulated input.
  /// - Throws: an error with file, line and remedy, for an unreadable recording; `ConfigurationError` if no
  ///   source remains.
  init(_ configuration: AgentConfiguration, location: SimulatedLocation? = nil) throws {
    let input = configuration.sensorInput
    if case .hardware(let hardware) = input, hardware.gpsd == nil, hardware.iio.isEmpty,
      hardware.can == nil, hardware.radios.isEmpty
    {
      throw ConfigurationError(
        .conflict, place: "configuration",
        problem:
          "gpsd and iio are both off; enable one, set can.interface, radio.wifi or radio.modem, or set input.mode"
      )
    }
    do {
      try self.init(input, speed: configuration.speed, location: location)
    } catch let error as SourceError {
      throw ConfigurationError(
        .invalidValue, place: error.place, problem: "\(error.problem); \(error.remedy)")
    }
  }
}

extension AgentConfiguration {
  /// The configured source of sensor data.
  var sensorInput: SensorInput {
    switch input {
    case .hardware:
      .hardware(
        SensorInput.Hardware(
          gpsd: gpsd?.address, receiver: gpsd?.device, iio: iio, can: can?.bus, radios: radio.radios,
          assistsReceiver: gpsd?.assists ?? false))
    case .replay(let replay):
      .recording(
        SensorInput.Recording(
          position: replay.position, sensors: replay.sensors, date: replay.date,
          can: replay.can.flatMap { can?.log($0) }, place: replay.place, duration: replay.duration))
    case .simulation(let simulation): .simulation(simulation)
    }
  }
}
