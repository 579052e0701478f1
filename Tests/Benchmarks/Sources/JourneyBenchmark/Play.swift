import Navigation
import Positioning
import Sensors
import Spatial

/// Ways to an odometer's metres from the same drive.
enum Play {
  /// Of the receiver alone, with the speed of the wheels where they are given.
  static func receiver(_ locations: [Location], wheels: [WheelSpeed] = []) -> Odometer {
    var odometer = Odometer()
    var next = wheels[...]
    for location in locations {
      while let wheel = next.first, wheel.timestamp <= location.timestamp {
        odometer.process(wheel)
        next.removeFirst()
      }
      odometer.process(OdometerSample(location))
    }
    return odometer
  }

  /// How often a disk is written that is never to be wrong by more than three metres after a restart, at most once in three
  /// seconds, and once in a kilometre: the rule of the agent.
  static func writings(_ locations: [Location]) -> Int {
    var (odometer, kept, count) = (Odometer(), OdometerState(), 0)
    var due = Timestamp(nanoseconds: .min)
    for location in locations {
      var sample = OdometerSample(location)
      // Of a log without dates the time line stands for the clock.
      sample.time = UTCTime(nanoseconds: location.timestamp.nanoseconds)
      odometer.process(sample)
      var restarted = Odometer(kept)
      restarted.process(sample)
      let risk = abs(odometer.distance - restarted.distance)
      guard location.timestamp >= due, count == 0 || risk > 3 || odometer.distance - kept.distance > 1000
      else { continue }
      (kept, count) = (odometer.state, count + 1)
      due = location.timestamp.advanced(bySeconds: 3)
    }
    return count
  }

  /// Of navigation once it is aligned, once a second.
  static func navigation(_ drive: Drive, wheels: [WheelSpeed] = []) -> Odometer {
    var odometer = Odometer()
    var filter = NavigationFilter()
    var screen = FixScreen()
    var fixes = drive.fixes[...]
    var speeds = wheels[...]
    var due = Timestamp(nanoseconds: .min)
    for scan in drive.scans {
      while let fix = fixes.first, fix.timestamp <= scan.timestamp {
        filter.process(fix)
        for location in screen.process(fix) where filter.state != .aligned {
          odometer.process(OdometerSample(location))
        }
        fixes.removeFirst()
      }
      while let speed = speeds.first, speed.timestamp <= scan.timestamp {
        filter.process(speed)
        speeds.removeFirst()
      }
      filter.process(scan)
      guard scan.timestamp >= due, let estimate = filter.estimate else { continue }
      due = scan.timestamp.advanced(bySeconds: 1)
      odometer.process(
        OdometerSample(
          timestamp: scan.timestamp, coordinate: estimate.antennaCoordinate, accuracy: estimate.radius68,
          speed: estimate.speed, course: estimate.course, isStopped: estimate.isStopped,
          isReceiverInUse: estimate.source == .fused))
    }
    return odometer
  }
}

extension OdometerSample {
  init(_ location: Location) {
    self.init(
      timestamp: location.timestamp, time: location.time, coordinate: location.coordinate,
      accuracy: location.horizontalAccuracy, speed: location.speed, course: location.course)
  }
}
