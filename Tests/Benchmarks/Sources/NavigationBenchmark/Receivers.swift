import Foundation
import Navigation
import Sensors
import Simulation
import Spatial

/// Prints a table of receivers with faults: the time with a wrong position while the receiver is present.
struct Receivers {
  /// A kind of receiver.
  struct Kind {
    var name: String
    /// Delay of its reports in s.
    var delay = 0.0
    var hasVelocity = true
    /// Share of omitted reports, and number of consecutive ones.
    var omits: (share: Double, length: ClosedRange<Int>)?
    /// Seconds for which it repeats its last report, after 30 to 90 s.
    var freezes: ClosedRange<Double>?
    /// Speed in m/s below which it repeats its last report with a speed of zero, as receivers with static hold do; nil if never.
    var holdSpeed: Double?
  }

  static let kinds: [Kind] = {
    var kinds = [Kind(name: "as recorded")]
    for delay in [0.2, 0.5, 1, 1.5] { kinds.append(Kind(name: "\(delay) s late", delay: delay)) }
    kinds.append(Kind(name: "no velocity", hasVelocity: false))
    for delay in [0.2, 0.5, 1, 1.5] {
      kinds.append(Kind(name: "\(delay) s late, no velocity", delay: delay, hasVelocity: false))
    }
    for share in [0.01, 0.1, 0.3] {
      kinds.append(Kind(name: "omits \(Int(100 * share)) %", omits: (share, 1...1)))
      kinds.append(Kind(name: "omits \(Int(100 * share)) % in bursts", omits: (share, 2...5)))
    }
    kinds.append(
      Kind(
        name: "omits 30 % in bursts, 1 s late, no velocity", delay: 1, hasVelocity: false, omits: (0.3, 2...5)
      ))
    kinds.append(Kind(name: "freezes for 5 to 15 s", freezes: 5...15))
    kinds.append(Kind(name: "freezes for 15 to 60 s", freezes: 15...60))
    kinds.append(Kind(name: "freezes for 5 to 60 s, no velocity", hasVelocity: false, freezes: 5...60))
    kinds.append(Kind(name: "freezes for 5 to 60 s, 1 s late", delay: 1, freezes: 5...60))
    kinds.append(Kind(name: "holds its position at rest", holdSpeed: 0.5))
    kinds.append(Kind(name: "holds its position at rest, no velocity", hasVelocity: false, holdSpeed: 0.5))
    return kinds
  }()

  /// Multiple of the 95 % radius above which a position counts as wrong.
  private static let factor = 3.0
  /// Seconds after its last report for which the receiver counts as present.
  private static let presence = 1.6

  /// Seconds of all drives: with a receiver, with a position, within the 95 % radius, and beyond three times the radius.
  var (present, positioned, inside, wrong) = (0.0, 0.0, 0.0, 0.0)
  /// Longest uninterrupted time in s beyond it.
  var longest = 0.0
  /// Largest error in m.
  var largestError = 0.0
  /// The 95 % radius in m, one value per second.
  var radii: [Double] = []

  /// - Parameter latencies: latency in s of the receiver without faults, for each second.
  mutating func play(_ recording: Recording, _ kind: Kind, latencies: [Double], usesSpeed: Bool) {
    var replay = Replay(usesSpeed: usesSpeed)
    var (last, run, isAligned, fix) = (recording.samples[0].time, 0.0, false, 0)
    replay.play(recording, until: .infinity) { filter, now in
      let interval = min(1, now - last)
      last = now
      while fix < recording.fixes.count, recording.fixes[fix].time <= now { fix += 1 }
      isAligned = isAligned || filter.state == .aligned
      guard isAligned, fix > 0, now - recording.fixes[fix - 1].time < Self.presence,
        case let second = min(latencies.count - 1, Int(now - recording.samples[0].time)),
        let truth = recording.position(at: now - recording.offset + latencies[second])
      else { return true }
      present += interval
      guard let estimate = filter.estimate,
        let here = recording.isTruthFromReceiver ? estimate.antennaCoordinate : filter.coordinate(after: 0)
      else {
        run = 0
        return true
      }
      if Int(positioned) < Int(positioned + interval) { radii.append(estimate.radius95) }
      positioned += interval
      let error = here.distance(to: truth)
      largestError = max(largestError, error)
      if error <= estimate.radius95 { inside += interval }
      if error > Self.factor * estimate.radius95 {
        wrong += interval
        run += interval
        longest = max(longest, run)
      } else {
        run = 0
      }
      return true
    }
  }

  static func print(_ recordings: [Recording], simulated seeds: ClosedRange<UInt64>, usesSpeed: Bool) throws {
    let simulated = try seeds.map { try Recording(simulated: $0) }
    let sets = recordings.map { ($0.name, [$0]) } + [("\(simulated.count) simulated", simulated)]
    Swift.print(
      "| drive | receiver | with position | inside 95 % | median 95 % radius, m | largest error, m | beyond 3 radii, s | longest, s |\n"
        + "| --- | --- | --- | --- | --- | --- | --- | --- |")
    for (name, drives) in sets {
      let latencies = drives.map { self.latencies($0, usesSpeed: usesSpeed) }
      for kind in kinds {
        var sum = Receivers()
        for (index, drive) in drives.enumerated() {
          var random = SeededGenerator(seed: UInt64(index) + seeds.lowerBound, stream: 200)
          sum.play(
            drive.received(by: kind, &random), kind, latencies: latencies[index], usesSpeed: usesSpeed)
        }
        Swift.print(
          String(
            format: "| %@ | %@ | %.3f | %.3f | %.1f | %.1f | %.1f | %.1f |", name, kind.name,
            sum.positioned / max(1, sum.present), sum.inside / max(1, sum.positioned),
            sum.radii.isEmpty ? 0 : sum.radii.sorted()[sum.radii.count / 2], sum.largestError, sum.wrong,
            sum.longest))
      }
    }
  }

  /// Returns the latency in s of the receiver without faults, as estimated by navigation for each second, if the receiver is the truth of
  /// the drive.
  private static func latencies(_ recording: Recording, usesSpeed: Bool) -> [Double] {
    guard recording.isTruthFromReceiver else { return [0] }
    var (replay, latencies) = (Replay(usesSpeed: usesSpeed), [Double]())
    replay.play(recording, until: .infinity) { filter, now in
      guard now - recording.samples[0].time >= Double(latencies.count) else { return true }
      latencies.append(filter.estimate?.positionLatency ?? .nan)
      return true
    }
    let first = latencies.first { !$0.isNaN } ?? 0
    return latencies.map { $0.isNaN ? first : $0 }
  }
}

extension Recording {
  /// Returns the same drive with the reports of another receiver.
  func received(by kind: Receivers.Kind, _ random: inout SeededGenerator) -> Recording {
    var recording = self
    var omitted = 0
    var frozen: (since: Double, until: Double, fix: PositionFix)?
    var held: PositionFix?
    var next = 30 + 60 * random.nextUniform() + (fixes.first?.time ?? 0)
    var second = -Double.infinity
    recording.fixes = fixes.compactMap { time, fix -> (time: Double, fix: PositionFix)? in
      var fix = fix
      if let omits = kind.omits, time - second >= 1 - 1e-3 {
        second = time
        let mean = Double(omits.length.lowerBound + omits.length.upperBound) / 2
        omitted -= 1
        if omitted < 0, random.nextUniform() < omits.share / (1 - omits.share) / mean {
          omitted = omits.length.lowerBound + Int(random.nextUniform() * Double(omits.length.count))
        }
      }
      if omitted > 0 { return nil }
      if let freezes = kind.freezes {
        if time >= next {
          let length = freezes.lowerBound + random.nextUniform() * (freezes.upperBound - freezes.lowerBound)
          frozen = (time, time + length, fix)
          next = time + length + 30 + 60 * random.nextUniform()
        }
        if let own = frozen, time < own.until { fix = own.fix }
      }
      if let limit = kind.holdSpeed {
        if let speed = fix.speed, speed < limit {
          fix = held ?? fix
          (fix.speed, fix.course, fix.climb) = (0, nil, 0)
          held = fix
        } else {
          held = nil
        }
      }
      fix.timestamp = Timestamp(seconds: time + kind.delay + Recording.start)
      if !kind.hasVelocity { (fix.speed, fix.course, fix.climb) = (nil, nil, nil) }
      return (time + kind.delay, fix)
    }
    return recording
  }
}
