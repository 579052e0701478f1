import Navigation
import Sensors
import Spatial

/// A recording during its replay into a filter; a copy continues at the position of the original.
struct Replay {
  var filter = NavigationFilter()
  private let usesSpeed: Bool
  private var sample = 0
  private var fix = 0
  private var speed = 0

  init(usesSpeed: Bool) { self.usesSpeed = usesSpeed }

  /// Time of the latest sample in s of the recording.
  private(set) var time = -Double.infinity

  var count: Int { sample }

  /// Plays all samples before a time.
  ///
  /// - Parameters:
  ///   - outage: fixes within these times are omitted.
  ///   - each: is called after each sample; false stops the replay.
  mutating func play(
    _ recording: Recording, until end: Double, outage: Range<Double>? = nil,
    each: (NavigationFilter, Double) -> Bool = { _, _ in true }
  ) {
    while sample < recording.samples.count, recording.samples[sample].time < end {
      let next = recording.samples[sample]
      while fix < recording.fixes.count, recording.fixes[fix].time <= next.time {
        if outage?.contains(recording.fixes[fix].time) != true { filter.process(recording.fixes[fix].fix) }
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
