import Platform
import Sensors
import Simulation
import Spatial
import TestSupport
import Testing

@testable import Recordings

@Suite struct ReplayTests {
  let scratch: ScratchFolder

  init() throws { scratch = try ScratchFolder() }

  private func samples(_ times: [Double], origin: Double = 0) throws -> CSVSensorRecording {
    let rows = times.map { "\($0),1,2,3" }.joined(separator: "\n")
    return try CSVSensorRecording(
      path: scratch.write("t,gx,gy,gz\n" + rows, to: "\(times.count).csv"),
      startingAt: Timestamp(seconds: origin))
  }

  @Test func mergedEventsAreInOrderOfTime() throws {
    let merged = MergedRecording([
      try samples([0, 0.5, 1.5, 2.5], origin: 0.25), NoLocation(duration: .seconds(3)),
    ])
    #expect(merged.kinds == [.gyroscope, .positioning])
    let times = try events(of: merged).compactMap { $0.timestamp?.seconds }
    #expect(times == [0, 0.25, 0.75, 1, 1.75, 2, 2.75])
  }

  @Test func aPartThatIsOffDoesNotRunAhead() throws {
    var merged = MergedRecording([
      try samples([0, 1, 2, 3, 4, 5].map { $0 + 0.5 }), NoLocation(duration: .seconds(6)),
    ])
    merged.setDemand(.off, for: .positioning)
    for _ in 0..<3 { #expect(try merged.next()?.count(of: .gyroscope) == 1) }
    merged.setDemand(.rate(hertz: 1, latency: .zero), for: .positioning)
    #expect(try merged.next()?.timestamp == Timestamp(seconds: 3))
  }

  @Test func noLocationNeverHasAPosition() throws {
    let fixes = try fixes(of: NoLocation(duration: .seconds(3)))
    #expect(fixes.map(\.timestamp.seconds) == [0, 1, 2])
    #expect(fixes.allSatisfy { $0.mode == .noFix && $0.coordinate == nil })
    var endless = NoLocation()
    endless.setDemand(.off, for: .positioning)
    #expect(endless.next() == .position([]))
  }

  @Test func aPacedReplayReportsAllEventsAndItsEnd() throws {
    let heard = Locked<[SensorEvent]>([])
    let done = try EventDescriptor()
    let replay = try PacedReplay(samples([5, 6, 7]), speed: .infinity)
    replay.setDemand(.rate(hertz: 100, latency: .zero), for: .gyroscope)
    try replay.start { event in
      heard.withLock { $0.append(event) }
      if case .status(let status) = event, status.state == .finished { done.signal() }
    }
    #expect(done.wait(seconds: 30))
    replay.stop()
    let events = heard.withLock { $0 }
    let times = events.flatMap { $0.times(of: .gyroscope) }
    #expect(times.count == 3)
    // The intervals are those of the recording. The first sample is placed at the start, on the device's time line.
    #expect(times.map { $0.seconds(since: times[0]) } == [0, 1, 2])
    #expect(times.allSatisfy { $0 <= Timestamp.now.advanced(bySeconds: 3) })
    guard case .status(let first)? = events.first, case .active = first.state else {
      Issue.record("the first event is not an active status: \(events.first as Any)")
      return
    }
  }

  @Test func aReplayWithoutDemandIsSilent() throws {
    let heard = Locked<[SensorEvent]>([])
    let done = try EventDescriptor()
    let replay = try PacedReplay(samples([5, 6, 7]), speed: .infinity)
    try replay.start { event in
      heard.withLock { $0.append(event) }
      if case .status(let status) = event, status.state == .finished { done.signal() }
    }
    #expect(done.wait(seconds: 30))
    replay.stop()
    #expect(heard.withLock { $0.allSatisfy { if case .status = $0 { true } else { false } } })
  }

  @Test func stoppingAPacedReplayDoesNotWaitForItsEnd() throws {
    let replay = try PacedReplay(samples([0, 100_000]))
    let started = try EventDescriptor()
    try replay.start { _ in started.signal() }
    #expect(started.wait(seconds: 30))
    replay.stop()
    let count = Locked(0)
    try replay.start { _ in count.withLock { $0 += 1 } }
    #expect(count.withLock { $0 } == 0)
  }

  @Test func anUnreadableRecordingIsReportedAndFinishes() throws {
    let path = try scratch.write("t,gx,gy,gz\n0,1,2,3\n1,1,2,x\n", to: "broken.csv")
    let heard = Locked<[SourceStatus.State]>([])
    let done = try EventDescriptor()
    let replay = try PacedReplay(CSVSensorRecording(path: path), speed: .infinity)
    try replay.start { event in
      guard case .status(let status) = event else { return }
      heard.withLock { $0.append(status.state) }
      if status.state == .finished { done.signal() }
    }
    #expect(done.wait(seconds: 30))
    replay.stop()
    let states = heard.withLock { $0 }
    #expect(states.count == 3)
    guard case .unavailable(let reason)? = states.dropFirst().first else {
      Issue.record("the fault was not reported: \(states)")
      return
    }
    #expect(reason.contains("broken.csv:3: column gz"))
  }
}

/// Grouping of a recording's events into deliveries.
@Suite struct ReplayScheduleTests {
  private func scan(_ milliseconds: Int64) -> SensorEvent {
    .inertial([
      InertialScan(
        timestamp: Timestamp(nanoseconds: milliseconds * 1_000_000), specificForce: Vector3(0, 0, 9.8))
    ])
  }

  private func dues(_ demands: [SensorKind: SensorDemand], _ times: [Int64]) -> [Int64] {
    var schedule = ReplaySchedule()
    _ = schedule.adopt(demands)
    var groups = times.compactMap { schedule.add(scan($0), at: $0 * 1_000_000) }
    if let last = schedule.removeGroup() { groups.append(last) }
    #expect(groups.map(\.events.count).reduce(0, +) <= times.count)
    return groups.map { $0.due / 1_000_000 }
  }

  @Test func eventsWithinTheLatencyAreDeliveredTogether() {
    let times: [Int64] = [480, 490, 980, 990, 1000]
    let calm = SensorDemand.rate(hertz: 100, latency: .milliseconds(500))
    #expect(dues([.accelerometer: calm], times) == [500, 1000])
    #expect(dues([.accelerometer: .rate(hertz: 100, latency: .milliseconds(50))], times) == times)
    #expect(dues([.accelerometer: calm, .gyroscope: .rate(hertz: 9, latency: .zero)], times) == times)
  }

  @Test func noWakeUpsForSensorsWithoutDemand() {
    let times = (0..<50).map { Int64($0) * 100 }
    #expect(dues([.accelerometer: .off], times).count <= 11)
    #expect(dues([.accelerometer: .rate(hertz: 100, latency: .zero)], times) == times)
  }
}
