import Navigation
import Sensors
import Spatial

/// A recording being played into a filter; a copy goes on from where the original stands.
struct Replay {
  var filter = NavigationFilter()
  private let usesSpeed: Bool
  private var sample = 0
  private var fix = 0
  private var speed = 0
  private let detectsRepetitions: Bool
  private var repeated = RepeatedPosition()

  /// - Parameter detectsRepetitions: true to withhold positions that the receiver repeats in motion, as the agent does.
  init(usesSpeed: Bool, detectsRepetitions: Bool = false) {
    (self.usesSpeed, self.detectsRepetitions) = (usesSpeed, detectsRepetitions)
  }

  private mutating func process(_ fix: PositionFix) {
    if detectsRepetitions {
      let estimate = filter.estimate
      repeated.process(
        fix, speeds: [estimate.map { $0.speed - 3 * $0.velocityDeviation }, fix.speed],
        fastest: estimate.map { $0.speed + 3 * $0.velocityDeviation })
      if estimate != nil, repeated.isFrozen {
        return filter.process(PositionFix(timestamp: fix.timestamp, time: fix.time, mode: .noFix))
      }
    }
    filter.process(fix)
  }

  /// s: time of the newest sample on the recording's own time line.
  private(set) var time = -Double.infinity

  var count: Int { sample }

  /// Plays all samples before a time.
  ///
  /// - Parameters:
  ///   - outage: fixes of these times are withheld.
  ///   - each: called after every sample; ends the replay with false.
  mutating func play(
    _ recording: Recording, until end: Double, outage: Range<Double>? = nil,
    each: (NavigationFilter, Double) -> Bool = { _, _ in true }
  ) {
    while sample < recording.samples.count, recording.samples[sample].time < end {
      let next = recording.samples[sample]
      while fix < recording.fixes.count, recording.fixes[fix].time <= next.time {
        if outage?.contains(recording.fixes[fix].time) != true { process(recording.fixes[fix].fix) }
        fix += 1
      }
      while usesSpeed, speed < recording.speeds.count, recording.speeds[speed].time <= next.time {
        let measured = recording.speeds[speed]
        filter.process(
          WheelSpeed(timestamp: Timestamp(seconds: measured.time + Recording.start), speed: measured.speed))
        speed += 1
      }
      filter.process(
        InertialScan(
          timestamp: Timestamp(seconds: next.time + Recording.start), specificForce: next.force,
          rotationRate: next.rate))
      sample += 1
      time = next.time
      if !each(filter, time) { return }
    }
  }
}
