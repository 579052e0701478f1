package import Fleet
package import MQTT
internal import Sensors
internal import Simulation
package import Spatial
package import Telemetry

/// Many vehicles on one route, each at its own position and in its own neighbourhood.
///
/// Reports are spread evenly: of N vehicles with one report a second, one vehicle sends every 1/N seconds.
/// This needs no schedule: the number of a report determines its vehicle and due time. A vehicle needs a few
/// hundred bytes and a report a few microseconds, because the motion is in closed form.
///
/// If a fleet is split into n parts, each process simulates every n-th vehicle. The seed and a vehicle's
/// number determine its behaviour, and its place among all vehicles determines its timing. The parts together
/// therefore send the same as a single process.
package struct SimulatedFleet: Sendable {
  /// A message with the index of its vehicle.
  package struct Output: Sendable {
    package var vehicle: Int
    package var message: MQTTMessage
    /// The vehicle's sequence number; nil for a message without one.
    package var number: UInt64?
  }

  let configuration: Configuration
  package private(set) var vehicles: [SimulatedVehicle]
  private let drive: SimulatedDrive
  private let start: UTCTime
  /// The number of reports so far, of all vehicles together.
  private var reports = 0
  private var liveReports = 0

  /// Creates a fleet.
  ///
  /// - Throws: `FleetError` for a setting out of range or a name that is not valid in a topic.
  package init(_ configuration: Configuration, start: UTCTime) throws(FleetError) {
    try configuration.check()
    self.configuration = configuration
    self.start = start
    do throws(SimulationError) {
      var ideal = SimulatedDrive.Configuration.ideal
      ideal.seed = configuration.seed
      drive = try SimulatedDrive(ideal)
    } catch {
      throw .usage("simulate", "a drive", "\(error)")
    }
    vehicles = []
    let part = configuration.part
    vehicles.reserveCapacity(part.share(of: configuration.vehicles))
    let end = configuration.first + configuration.vehicles
    for number in stride(from: configuration.first + part.index, to: end, by: part.count) {
      let name = configuration.prefix + String(number)
      do throws(TopicError) {
        let topics = try TopicScheme(
          root: configuration.root, fleet: configuration.fleet, vehicle: name)
        vehicles.append(
          SimulatedVehicle(
            topics: topics, number: number, configuration: configuration, lap: drive.lapDuration, start: start
          ))
      } catch {
        throw .usage("name", "vehicle \"\(name.prefix(80))\"", error.description)
      }
    }
  }

  /// Returns a status of every vehicle.
  package mutating func status(_ state: StatusMessage.State, at time: UTCTime) -> [Output] {
    vehicles.indices.map { place in
      let saying = vehicles[place].status(state, at: time)
      return Output(vehicle: place, message: saying.message, number: saying.number)
    }
  }

  /// Returns a new status of vehicles whose link has reconnected: the broker can have published their will or
  /// lost retained messages. A vehicle in a simulated outage sends its status after the outage.
  package mutating func statusAgain(at time: UTCTime, of isRenewed: (_ vehicle: Int) -> Bool) -> [Output] {
    vehicles.indices.filter { isRenewed($0) && !vehicles[$0].isOut }.map { place in
      let saying = vehicles[place].status(.online, at: time)
      return Output(vehicle: place, message: saying.message, number: saying.number)
    }
  }

  /// The messages that clear all vehicles' retained messages.
  package var removals: [Output] {
    vehicles.indices.flatMap { place in
      vehicles[place].removals.map { Output(vehicle: place, message: $0) }
    }
  }

  /// The seconds after the start at which the next report is due.
  package var nextDue: Double {
    min(
      due(reports, configuration.rate),
      configuration.liveRate > 0 ? due(liveReports, configuration.liveRate) : .infinity)
  }

  /// Appends all messages up to a time, in chronological order.
  /// - Parameter seconds: the time since the start.
  package mutating func advance(to seconds: Double, into outputs: inout [Output]) {
    var sayings: [SimulatedVehicle.NumberedMessage] = []
    while true {
      let due = due(reports, configuration.rate)
      let liveDue = configuration.liveRate > 0 ? self.due(liveReports, configuration.liveRate) : .infinity
      guard min(due, liveDue) <= seconds else { return }
      let isLive = liveDue < due
      let (number, moment) = isLive ? (liveReports, liveDue) : (reports, due)
      let place = number % vehicles.count
      let time = start.advanced(bySeconds: moment)
      let lapTime = vehicles[place].lapTime(after: moment, speed: configuration.speed)
      let state = drive.truth(at: Timestamp(seconds: lapTime))
      if isLive {
        liveReports += 1
        vehicles[place].live(state, at: time, into: &sayings)
      } else {
        reports += 1
        vehicles[place].report(state, after: moment, at: time, configuration: configuration, into: &sayings)
      }
      for saying in sayings {
        outputs.append(Output(vehicle: place, message: saying.message, number: saying.number))
      }
      sayings.removeAll(keepingCapacity: true)
    }
  }

  /// Returns the seconds after the start at which a report of this part is due, from its position in the
  /// order of the whole fleet.
  private func due(_ number: Int, _ rate: Double) -> Double {
    let (round, place) = number.quotientAndRemainder(dividingBy: vehicles.count)
    let inFleet = round * configuration.vehicles + configuration.part.index + place * configuration.part.count
    return Double(inFleet) / (rate * Double(configuration.vehicles))
  }
}
