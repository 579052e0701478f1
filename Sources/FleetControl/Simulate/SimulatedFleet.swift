internal import Fleet
internal import FleetConsole
internal import MQTT
internal import Sensors
internal import Simulation
internal import Spatial
internal import Telemetry

/// Many vehicles on one route, each at its own place of it and in its own neighbourhood.
///
/// Reports are spread evenly over time: of N vehicles at one report a second, one speaks every 1/N seconds, in turn.
/// So there is no schedule to keep; the number of a report says whose it is and when it is due. A vehicle costs some
/// hundred bytes and a report some microseconds, because the motion is in closed form.
struct SimulatedFleet: Sendable {
  /// A message and the vehicle that says it, by its place.
  struct Output: Sendable {
    var vehicle: Int
    var message: MQTTMessage
  }

  let options: SimulateOptions
  private(set) var vehicles: [SimulatedVehicle]
  private let drive: SimulatedDrive
  private let start: UTCTime
  /// Reports so far, of all vehicles.
  private var reports = 0
  private var liveReports = 0

  /// - Throws: `FleetError` for a setting out of bounds or a name that cannot stand in a topic.
  init(_ options: SimulateOptions, start: UTCTime) throws(FleetError) {
    try options.check()
    let root = options.broker.topicRoot
    self.options = options
    self.start = start
    do throws(SimulationError) {
      var configuration = SimulatedDrive.Configuration.ideal
      configuration.seed = options.seed
      drive = try SimulatedDrive(configuration)
    } catch {
      throw .usage("simulate", "a drive", "\(error)")
    }
    vehicles = []
    vehicles.reserveCapacity(options.vehicles)
    for number in options.first..<(options.first + options.vehicles) {
      do throws(TopicError) {
        let topics = try TopicScheme(
          root: root, fleet: options.fleet, vehicle: options.prefix + String(number))
        vehicles.append(
          SimulatedVehicle(
            topics: topics, number: number, options: options, lap: drive.lapDuration, start: start))
      } catch {
        throw .usage("name", "vehicle \"\((options.prefix + String(number)).prefix(80))\"", error.description)
      }
    }
  }

  /// Every vehicle says that it is there, or that it goes.
  mutating func status(_ state: StatusMessage.State, at time: UTCTime) -> [Output] {
    vehicles.indices.map { Output(vehicle: $0, message: vehicles[$0].status(state, at: time)) }
  }

  /// Seconds after the start at which the next report is due.
  var nextDue: Double {
    min(due(reports, options.rate), options.liveRate > 0 ? due(liveReports, options.liveRate) : .infinity)
  }

  /// All that vehicles say until a time, in its order.
  /// - Parameter seconds: since the start.
  mutating func advance(to seconds: Double, into outputs: inout [Output]) {
    var messages: [MQTTMessage] = []
    while true {
      let due = due(reports, options.rate)
      let liveDue = options.liveRate > 0 ? self.due(liveReports, options.liveRate) : .infinity
      guard min(due, liveDue) <= seconds else { return }
      let isLive = liveDue < due
      let (number, moment) = isLive ? (liveReports, liveDue) : (reports, due)
      let place = number % vehicles.count
      let time = start.advanced(bySeconds: moment)
      let lapTime = vehicles[place].lapTime(after: moment, speed: options.speed)
      let state = drive.truth(at: Timestamp(seconds: lapTime))
      if isLive {
        liveReports += 1
        vehicles[place].live(state, at: time, into: &messages)
      } else {
        reports += 1
        vehicles[place].report(state, after: moment, at: time, options: options, into: &messages)
      }
      for message in messages { outputs.append(Output(vehicle: place, message: message)) }
      messages.removeAll(keepingCapacity: true)
    }
  }

  private func due(_ number: Int, _ rate: Double) -> Double {
    Double(number) / (rate * Double(vehicles.count))
  }
}
