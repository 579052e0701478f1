import Foundation
import Navigation
import Spatial

/// Simulates outages of the receiver, and measures the position error at their ends.
struct Outages {
  static let lengths = [10.0, 30, 60, 120]
  /// Seconds from the alignment to the first outage.
  static let first = 60.0
  /// Seconds with a receiver after an outage that are used for smoothing.
  static let after = 10.0

  struct End {
    /// Start of the outage in s of the receiver's time.
    var start: Double
    var error: Double
    var distance: Double
    var radius68: Double
    var radius95: Double
  }

  struct Smoothed {
    var rms: Double
    var liveRMS: Double
    var inside68: Double
    var inside95: Double
  }

  var ends: [Double: [End]] = [:]
  var smoothed: [Double: [Smoothed]] = [:]
  /// Seconds from the first sample to the alignment.
  var alignment: Double?
  var nanoseconds = 0.0
  /// Seconds in outages in which the vehicle moved, and of these, in which the filter detected a stop.
  var movingTime = 0.0
  var falseStopTime = 0.0
  /// Speed in m/s from which the vehicle counts as moving.
  private static let movingSpeed = 0.5
  private var lastTime = 0.0

  init(_ recording: Recording, usesSpeed: Bool, smooth: Bool) {
    var replay = Replay(usesSpeed: usesSpeed)
    replay.play(recording, until: .infinity) { filter, _ in filter.state != .aligned }
    guard replay.filter.state == .aligned else { return }
    let aligned = replay.time
    alignment = aligned - recording.samples[0].time
    let end = min(
      recording.samples[recording.samples.count - 1].time, recording.truth[recording.truth.count - 1].time)
    // Outages of short drives are closer together.
    // Processor time is measured, since other programs run on the same machine.
    var (seconds, samples) = (0.0, 0)
    let every = end - aligned < 1200 ? 10.0 : 30
    for start in stride(from: aligned + Self.first, to: end - Self.lengths[0] - 1, by: every) {
      let before = (time: clock(), count: replay.count)
      replay.play(recording, until: start)
      seconds += Double(clock() - before.time) / Double(CLOCKS_PER_SEC)
      samples += replay.count - before.count
      let lengths = Self.lengths.filter { start + $0 <= end - 0.2 }
      guard let longest = lengths.last else { break }
      measure(recording, replay, start: start, lengths: lengths, longest: longest)
      guard smooth else { continue }
      for length in lengths where start + length + Self.after <= end {
        measureSmoothed(recording, replay, start: start, length: length)
      }
    }
    nanoseconds = 1e9 * seconds / Double(max(1, samples))
  }

  /// Seconds to add to a time of the truth to obtain the time of the samples.
  private func shift(_ recording: Recording, _ filter: NavigationFilter) -> Double {
    recording.isTruthFromReceiver ? -(filter.estimate?.positionLatency ?? 0) : recording.offset
  }

  private mutating func measure(
    _ recording: Recording, _ replay: Replay, start: Double, lengths: [Double], longest: Double
  ) {
    var fork = replay
    let shift = shift(recording, replay.filter)
    for length in lengths {
      // Just before the end, since the first fix after the outage would be used there.
      let time = start + length - 0.05
      fork.play(recording, until: .infinity, outage: start..<start + 1e6) { filter, now in
        countStops(recording, filter, now - shift)
        return now < time + shift
      }
      guard let truth = recording.position(at: time) else { continue }
      let distance = recording.distance(from: start, to: start + length)
      guard let estimate = fork.filter.estimate,
        let here = fork.filter.coordinate(after: time + shift - fork.time)
      else {
        // Without an estimate, the last position remains; its error counts, and is outside of any radius.
        let frozen = recording.position(at: start) ?? truth
        ends[length, default: []].append(
          End(start: start, error: frozen.distance(to: truth), distance: distance, radius68: 0, radius95: 0))
        continue
      }
      ends[length, default: []].append(
        End(
          start: start, error: here.distance(to: truth), distance: distance, radius68: estimate.radius68,
          radius95: estimate.radius95))
    }
  }

  private mutating func countStops(_ recording: Recording, _ filter: NavigationFilter, _ time: Double) {
    defer { lastTime = time }
    let interval = time - lastTime
    guard interval > 0, interval < 1, let motion = recording.motion(at: time),
      motion.speed > Self.movingSpeed
    else { return }
    movingTime += interval
    if filter.estimate?.isStopped == true { falseStopTime += interval }
  }

  private mutating func measureSmoothed(
    _ recording: Recording, _ replay: Replay, start: Double, length: Double
  ) {
    var fork = replay
    let shift = shift(recording, replay.filter)
    fork.play(recording, until: start + length + Self.after, outage: start..<start + length)
    var (squares, live, inside68, inside95, count) = (0.0, 0.0, 0.0, 0.0, 0.0)
    for point in fork.filter.correctedTrack {
      let time = point.timestamp.seconds - Recording.start - shift
      guard time >= start, time <= start + length, let truth = recording.position(at: time) else { continue }
      let error = point.coordinate.distance(to: truth)
      squares += error * error
      live += pow(point.live.distance(to: truth), 2)
      inside68 += error <= point.radius68 ? 1 : 0
      inside95 += error <= point.radius95 ? 1 : 0
      count += 1
    }
    guard count > 0 else { return }
    smoothed[length, default: []].append(
      Smoothed(
        rms: (squares / count).squareRoot(), liveRMS: (live / count).squareRoot(), inside68: inside68 / count,
        inside95: inside95 / count))
  }

  /// Mean error in m at the end of all outages of a length in s.
  func mean(_ length: Double) -> Double? {
    ends[length].map { $0.map(\.error).reduce(0, +) / Double(max(1, $0.count)) }
  }

  // MARK: Table

  static let header = "data,outage_s,n,mean_m,median_m,p95_m,percent,inside68,inside95,radius68_m"
  static let smoothedHeader = "data,outage_s,n,smoothed_rms_m,live_rms_m,inside68,inside95"

  func lines(name: String) -> [String] {
    Self.lengths.compactMap { length in
      guard let ends = ends[length], !ends.isEmpty else { return nil }
      let n = Double(ends.count)
      let errors = ends.map(\.error).sorted()
      let share = 100 * errors.reduce(0, +) / max(1, ends.map(\.distance).reduce(0, +))
      let inside68 = Double(ends.count { $0.error <= $0.radius68 }) / n
      let inside95 = Double(ends.count { $0.error <= $0.radius95 }) / n
      return String(
        format: "%@,%.0f,%d,%.2f,%.2f,%.2f,%.2f,%.2f,%.2f,%.1f", name, length, ends.count,
        errors.reduce(0, +) / n, quantile(errors, 0.5), quantile(errors, 0.95), share, inside68, inside95,
        quantile(ends.map(\.radius68).sorted(), 0.5))
    }
  }

  static let eachHeader = "data,start_s,outage_s,error_m,radius68_m,radius95_m"

  func eachLines(name: String) -> [String] {
    Self.lengths.flatMap { length in
      (ends[length] ?? []).map { end in
        String(
          format: "%@,%.1f,%.0f,%.2f,%.2f,%.2f", name, end.start, length, end.error, end.radius68,
          end.radius95)
      }
    }
  }

  func smoothedLines(name: String) -> [String] {
    Self.lengths.compactMap { length in
      guard let all = smoothed[length], !all.isEmpty else { return nil }
      func mean(_ value: (Smoothed) -> Double) -> Double { all.map(value).reduce(0, +) / Double(all.count) }
      return String(
        format: "%@,%.0f,%d,%.2f,%.2f,%.2f,%.2f", name, length, all.count, mean(\.rms), mean(\.liveRMS),
        mean(\.inside68), mean(\.inside95))
    }
  }

  /// Interpolates between neighbours in a sorted array.
  private func quantile(_ sorted: [Double], _ share: Double) -> Double {
    let place = share * Double(sorted.count - 1)
    let index = min(Int(place), max(0, sorted.count - 2))
    guard sorted.count > 1 else { return sorted.first ?? .nan }
    return sorted[index] + (place - Double(index)) * (sorted[index + 1] - sorted[index])
  }
}
