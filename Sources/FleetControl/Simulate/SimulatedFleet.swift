internal import Fleet
internal import FleetCommand
internal import MQTT
internal import Sensors
internal import Simulation
internal import Spatial
internal import Telemetry

/// Many vehicles on one route, each at its own position and in its own neighbourhood.
///
/// Reports are spread evenly: of N vehicles with one report a second, one vehicle sends every 1/N seconds.
/// This needs no schedule: the number of a report determines its vehicle and due time. A vehicle needs a few
/// hundred bytes and a report a few microseconds, because the motion is in closed form.
///
/// If a fleet is split into n parts, each process simulates every n-th vehicle. The seed and a vehicle's
/// number determine its behaviour, and its place among all vehicles determines its timing. The parts together
/// therefore send the same as a single process.
struct SimulatedFleet: Sendable {
  /// A message with the index of its vehicle.
  struct Output: Sendable {
    var vehicle: Int
    var message: MQTTMessage
    /// The vehicle's sequence number; nil for a message without one.
    var number: UInt64?
  }

  let options: SimulateOptions
  private let part: SimulatedPart
  private(set) var vehicles: [SimulatedVehicle]
  private let drive: SimulatedDrive
  private let start: UTCTime
  /// The number of reports so far, of all vehicles together.
  private var reports = 0
  private var liveReports = 0

  /// Creates a fleet.
  ///
  /// - Throws: `FleetError` for a setting out of range or a name that is not valid in a topic.
  init(_ options: SimulateOptions, start: UTCTime) throws(FleetError) {
    try options.check()
    let root = options.broker.topicRoot
    self.options = options
    self.start = start
    part = try options.simulatedPart()
    do throws(SimulationError) {
      var configuration = SimulatedDrive.Configuration.ideal
      configuration.seed = options.seed
      drive = try SimulatedDrive(configuration)
    } catch {
      throw .usage("simulate", "a drive", "\(error)")
    }
    vehicles = []
    vehicles.reserveCapacity(part.share(of: options.vehicles))
    let end = options.first + options.vehicles
    for number in stride(from: options.first + part.index, to: end, by: part.count) {
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

  /// Returns a status of every vehicle.
  mutating func status(_ state: StatusMessage.State, at time: UTCTime) -> [Output] {
    vehicles.indices.map { place in
      let saying = vehicles[place].status(state, at: time)
      return Output(vehicle: place, message: saying.message, number: saying.number)
    }
  }

  /// Returns a new status of vehicles whose link has reconnected: the broker can have published their will or
  /// lost retained messages. A vehicle in a simulated outage sends its status after the outage.
  mutating func statusAgain(at time: UTCTime, of isRenewed: (_ vehicle: Int) -> Bool) -> [Output] {
    vehicles.indices.filter { isRenewed($0) && !vehicles[$0].isOut }.map { place in
      let saying = vehicles[place].status(.online, at: time)
      return Output(vehicle: place, message: saying.message, number: saying.number)
    }
  }

  /// The seconds after the start at which the next report is due.
  var nextDue: Double {
    min(due(reports, options.rate), options.liveRate > 0 ? due(liveReports, options.liveRate) : .infinity)
  }

  /// Appends all messages up to a time, in chronological order.
  /// - Parameter seconds: the time since the start.
  mutating func advance(to seconds: Double, into outputs: inout [Output]) {
    var sayings: [SimulatedVehicle.NumberedMessage] = []
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
        vehicles[place].live(state, at: time, into: &sayings)
      } else {
        reports += 1
        vehicles[place].report(state, after: moment, at: time, options: options, into: &sayings)
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
    let inFleet = round * options.vehicles + part.index + place * part.count
    return Double(inFleet) / (rate * Double(options.vehicles))
  }
}
