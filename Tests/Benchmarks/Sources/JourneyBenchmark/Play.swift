import Navigation
import Positioning
import Sensors
import Spatial

/// Odometers from different sources of the same drive.
enum Play {
  /// The odometer from the receiver, and from wheel speeds if there are any.
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

  /// Returns the number of disk writes by the agent's rule: the error after a restart is at most 3 m, with at most one write in 3 s and at
  /// least one per kilometre.
  static func writings(_ locations: [Location]) -> Int {
    var (odometer, kept, count) = (Odometer(), OdometerState(), 0)
    var due = Timestamp(nanoseconds: .min)
    for location in locations {
      var sample = OdometerSample(location)
      // The monotonic time replaces the clock in logs without dates.
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

  /// The odometer from navigation once it is aligned, with one sample per second.
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
