import Foundation
import Navigation
import Sensors
import Simulation
import Spatial

/// Hours of ordinary driving on rough roads without any manoeuvre: every event is a false one.
enum OrdinaryDriving {
  /// Hours per drive; each drive has its own mounting, hills and biases.
  private static let stretch = 2.5

  static func print(hours: Double) throws {
    Swift.print("road,hours,known_h,kind,events,per_hour")
    for road in [Road.Class.c, .d] {
      var counts: [DrivingEvent.Kind: Int] = [:]
      var (known, differenced) = (0.0, 0)
      let drives = max(1, Int((hours / 2 / stretch).rounded()))
      for seed in 1...drives {
        let (events, others, seconds) = try drive(road, seed: UInt64(seed))
        known += seconds / 3600
        differenced += others
        for event in events where !event.isOngoing {
          counts[event.kind, default: 0] += 1
          let line =
            "\(road) \(seed) \(event.kind) at \(event.start.seconds) peak \(event.peak) of \(event.limit) speed \(event.speed ?? -1) confidence \(event.confidence)\n"
          FileHandle.standardError.write(Data(line.utf8))
        }
      }
      let total = Double(drives) * stretch
      Swift.print("\(road),\(total),,manoeuvres by the receiver differenced,\(differenced),")
      for kind in DrivingEvent.Kind.allCases where counts[kind] != nil || kind == .braking {
        let count = counts[kind] ?? 0
        Swift.print(
          "\(road),\(total),\(String(format: "%.1f", known)),\(kind),\(count),\(String(format: "%.3f", Double(count) / total))"
        )
      }
    }
  }

  private static func drive(_ road: Road.Class, seed: UInt64) throws -> (
    events: [DrivingEvent], differenced: Int, known: Double
  ) {
    var configuration = SimulatedDrive.Configuration()
    configuration.seed = seed
    configuration.steepestGrade = 0.08
    (configuration.rates.magnetometer, configuration.rates.barometer, configuration.rates.thermometer) = (
      0, 0, 0
    )
    configuration.duration = stretch * 3600
    // A low-cost chip, in a device that vibrates in its holder.
    configuration.inertialErrors.accelerometerNoiseDensity = 0.003
    configuration.inertialErrors.accelerometerBias = 0.2
    configuration.inertialErrors.gyroscopeBias = 0.01
    var simulated = try SimulatedDrive(configuration)
    let turn = Mounting.random(seed: seed &+ 1000)
    var random = SeededGenerator(seed: seed, stream: 77)
    var road = Road(road)
    let (forceDrift, rateDrift) = (random.nextNormalVector(), random.nextNormalVector())
    var (filter, detector) = (NavigationFilter(), DrivingEventDetector())
    var (events, known) = ([DrivingEvent](), 0.0)
    var reports: [PositionFix] = []
    while let event = simulated.next() {
      switch event {
      case .inertial(let scans):
        for scan in scans {
          guard let force = scan.specificForce, let rate = scan.rotationRate else { continue }
          let truth = simulated.truth(at: scan.timestamp)
          let body = road.advance(speed: truth.speed, random: &random)
          // Drift in a warm-up by 14 K: 0.5 mg/K and 0.01 °/s/K.
          let warm = 14 * (1 - exp(-scan.timestamp.seconds / 600))
          let lean = Quaternion(rotationVector: body.lean)
          var shaken = scan
          let felt = lean.conjugate.rotate(force) + body.force + 0.005 * warm * forceDrift
          shaken.specificForce = turn.rotate(felt)
          shaken.rotationRate = turn.rotate(rate + body.rate + (0.01 * .pi / 180) * warm * rateDrift)
          filter.process(shaken)
          events += detector.process(shaken, filter.estimate)
          if detector.isMountingKnown { known += 0.01 }
        }
      case .position(let fixes):
        for var fix in fixes {
          // The antenna moves with the same springs.
          fix.climb = fix.climb.map { $0 + road.heave.speed }
          fix.altitudeEllipsoidal = fix.altitudeEllipsoidal.map { $0 + road.heave.height }
          fix.altitudeMeanSeaLevel = fix.altitudeMeanSeaLevel.map { $0 + road.heave.height }
          let told = detector.process(fix, filter.estimate)
          events += told
          reports.append(fix)
          filter.process(fix)
        }
      default: break
      }
    }
    let differenced = EventTruth.events(EventTruth.differenced(reports, rate: 1), DrivingEventLimits())
    return (events, differenced.count, known)
  }
}
