import Foundation
import Navigation
import Sensors
import Simulation
import Spatial

/// A parked vehicle in wind with only its accelerometer on, and lifted by 2°.
enum WindyWeek {
  /// Sampling rate in Hz of the accelerometer of a parked vehicle.
  private static let rate = 12.5

  static func print(days: Double) {
    Swift.print("vehicle,days,worst_wind_m_s,false_events,lifts,found,mean_delay_s,worst_delay_s")
    // Degrees of lean at 20 m/s from the side: dynamic pressure times drag, side area and its height, divided by the roll stiffness of the
    // springs: 1.2 / 2 * 1.1 * 4 m² * 400 * 0.7 m / 900 Nm/° and 1.2 / 2 * 1.3 * 9 m² * 400 * 1.1 m / 2400 Nm/°.
    for (name, lean) in [("car", 0.82), ("van", 1.29)] {
      for seed: UInt64 in 1...3 {
        var quiet = Week(lean: lean, seed: seed)
        let falseEvents = quiet.run(seconds: days * 86_400).count
        var delays: [Double] = []
        let lifts = 40
        for lift in 0..<lifts {
          var week = Week(lean: lean, seed: seed &* 1000 &+ UInt64(lift))
          let start = 600 + 4000 * week.random.nextUniform()
          if let told = week.run(seconds: start + 300, lift: start).first(where: { $0.isOngoing }),
            let at = week.toldAt, told.start.seconds >= start - 60
          {
            delays.append(at - start)
          }
        }
        Swift.print(
          "\(name),\(days),"
            + String(
              format: "%.1f,%d,%d,%d,%.1f,%.1f", quiet.strongest, falseEvents, lifts, delays.count,
              delays.reduce(0, +) / Double(max(1, delays.count)), delays.max() ?? .nan))
      }
    }
  }

  /// Wind whose hourly mean varies between calm and gale, with turbulence of 20 % (open country) and a length of 100 m, on a body that
  /// sways at 1.4 Hz; an accelerometer bias that drifts by 1 mg/K within ±10 K of a day; and the noise of a low-cost accelerometer.
  struct Week {
    let lean: Double
    var random: SeededGenerator
    private(set) var strongest = 0.0
    private(set) var toldAt: Double?

    init(lean: Double, seed: UInt64) {
      self.lean = lean
      random = SeededGenerator(seed: seed)
    }

    mutating func run(seconds: Double, lift: Double? = nil) -> [DrivingEvent] {
      var detector = DrivingEventDetector()
      let turn = Mounting.random(seed: random.next())
      let drift = random.nextNormalVector() * (0.001 * standardGravity)
      let axis = 2 * Double.pi * random.nextUniform()
      let phase = 2 * Double.pi * random.nextUniform()
      var (hourly, gust, direction) = (random.nextNormal(), 0.0, 2 * Double.pi * random.nextUniform())
      var (angle, angleRate) = (0.0, 0.0)
      var events = detector.observe(ignition: false, isEngineRunning: false, at: Timestamp(nanoseconds: 0))
      let step = 1 / WindyWeek.rate
      for index in 0..<Int(seconds * WindyWeek.rate) {
        let time = Double(index) * step
        hourly += -hourly * step / 10_800 + (2 * step / 10_800).squareRoot() * random.nextNormal()
        // Log-normal around 8 m/s: above 17 m/s (a gale) for 5 % of the time, limited to 20.7 m/s.
        let wind = min(20.7, 8 * exp(0.45 * hourly))
        let memory = 100 / max(wind, 1)
        gust += -gust * step / memory + (2 * step / memory).squareRoot() * random.nextNormal()
        direction += 0.05 * (step / 600).squareRoot() * random.nextNormal()
        let flow = max(0, wind * (1 + 0.2 * gust))
        strongest = max(strongest, flow)
        let push = lean * (flow / 20) * (flow / 20) * sin(direction)
        for _ in 0..<8 {
          let omega = 2 * Double.pi * 1.4
          angleRate += (omega * omega * (push - angle) - 2 * 0.2 * omega * angleRate) * step / 8
          angle += angleRate * step / 8
        }
        var up = Quaternion(rotationVector: Vector3(0, angle.radians, 0))
        if let lift, time > lift {
          let raised = min(2, 2 * (time - lift) / 10).radians
          up = up * Quaternion(rotationVector: raised * Vector3(cos(axis), sin(axis), 0))
        }
        let kelvin = 10 * sin(2 * .pi * time / 86_400 + phase)
        let force =
          turn.rotate(up.conjugate.rotate(Vector3(0, 0, standardGravity))) + kelvin * drift
          + 0.01 * random.nextNormalVector()
        let now = Timestamp(seconds: time)
        let told = detector.process(InertialScan(timestamp: now, specificForce: force), nil)
        if toldAt == nil, !told.isEmpty { toldAt = time }
        events += told
      }
      return events
    }
  }
}
