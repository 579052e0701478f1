import Foundation
import Sensors
import Simulation
import Spatial

extension Recording {
  /// Duration of a simulated drive in s.
  private static let simulatedDuration = 600.0

  /// A simulated drive on a random loop of streets, with a device in a random attitude.
  init(simulated seed: UInt64) throws {
    var random = SeededGenerator(seed: seed, stream: 100)
    var configuration = SimulatedDrive.Configuration()
    configuration.seed = seed
    configuration.route = Self.loop(&random)
    configuration.receiver.coldStart = 0
    configuration.receiver.meanTimeBetweenOutages = nil
    configuration.startTimestamp = Timestamp(seconds: Self.start)
    configuration.duration = Self.simulatedDuration
    let rates = configuration.rates
    (configuration.rates.magnetometer, configuration.rates.barometer) = (0, 0)
    configuration.rates.thermometer = 0
    var drive = try SimulatedDrive(configuration)
    self.init(
      name: "simulated \(seed)", samples: [], fixes: [], truth: [], speeds: [], isTruthFromReceiver: false)
    while let event = drive.next() {
      switch event {
      case .inertial(let scans):
        for scan in scans {
          guard let force = scan.specificForce, let rate = scan.rotationRate else { continue }
          samples.append(
            Sample(time: scan.timestamp.seconds - Self.start, force: force, rate: rate))
        }
      case .position(let fixes):
        self.fixes += fixes.map { ($0.timestamp.seconds - Self.start, $0) }
      default: break
      }
    }
    truth = (0...Int(Self.simulatedDuration * rates.positioning * 10)).map { step in
      let time = Double(step) / 10
      let state = drive.truth(at: Timestamp(seconds: time + Self.start))
      return Truth(time: time, coordinate: state.coordinate, speed: state.speed)
    }
    mount(seed: seed)
  }

  /// A loop of 20 to 30 streets around a centre, with turns to both sides, various speed limits and stops.
  private static func loop(_ random: inout SeededGenerator) -> Route {
    let middle = LocalFrame(origin: Coordinate(latitude: 48.1, longitude: 11.6))
    let count = 20 + Int(random.nextUniform() * 11)
    return Route(
      waypoints: (0..<count).map { index in
        let angle = 2 * Double.pi * (Double(index) + 0.4 * random.nextUniform()) / Double(count)
        let distance = 1000 * (0.7 + 0.6 * random.nextUniform())
        return Route.Waypoint(
          middle.coordinate(at: distance * SIMD2(cos(angle), sin(angle))),
          speedLimit: 8 + 17 * random.nextUniform(),
          stopDuration: random.nextUniform() < 0.3 ? 3 + 30 * random.nextUniform() : nil)
      })
  }
}
