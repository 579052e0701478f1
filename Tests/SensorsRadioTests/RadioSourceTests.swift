import Platform
import Sensors
import Spatial
import TestSupport
import Testing

@testable import SensorsRadio

/// Schedule and status reports of a radio source.
@Suite(.timeLimit(.minutes(2))) struct RadioSourceTests {
  /// A fake radio that returns configured results and counts scans.
  private final class FakeRadio: Sendable {
    let state = Locked((count: 0, failure: SourceError?.none, notice: SourceError?.none))

    func scan(_ wait: ScanWait) throws(SourceError) -> ScanResult? {
      let (failure, notice) = state.withLock { state in
        state.count += 1
        return (state.failure, state.notice)
      }
      if let failure { throw failure }
      let scan = RadioScan(
        timestamp: .now, sightings: [], kind: .wifi, duration: 1)
      return ScanResult(scan: scan, notice: notice)
    }

    var count: Int { state.withLock { $0.count } }
  }

  private static let error = SourceError(place: "wlan0", problem: "is down", remedy: "bring it up")

  private func source(_ radio: FakeRadio) throws -> RadioSource {
    try RadioSource(name: "wifi:wlan0", kind: .wifi) { wait throws(SourceError) in try radio.scan(wait) }
  }

  private func scans(_ recorder: EventRecorder) -> Int {
    recorder.events.reduce(0) { $0 + $1.count(of: .wifi) }
  }

  @Test func noScanBeforeTheFirstDemand() throws {
    let (radio, recorder) = (FakeRadio(), EventRecorder())
    let source = try source(radio)
    try source.start { recorder.receive($0) }
    source.setDemand(.rate(hertz: 1, latency: .zero), for: .cellular)
    source.setDemand(.rate(hertz: 1.0 / 300, latency: .zero), for: .wifi)
    #expect(waitUntil { scans(recorder) == 1 })
    #expect(recorder.statuses.map(\.state) == [.active(rates: [.wifi: 1.0 / 300])])
    source.setDemand(.off, for: .wifi)
    #expect(waitUntil { recorder.statuses.last?.state == .idle })
    source.stop()
    #expect(
      radio.count == 1 && recorder.statuses.allSatisfy { $0.source == "wifi:wlan0" && $0.kinds == [.wifi] })
  }

  @Test func aFailureIsReportedOnce() throws {
    let (radio, recorder) = (FakeRadio(), EventRecorder())
    radio.state.withLock { $0.failure = Self.error }
    let source = try source(radio)
    defer { source.stop() }
    try source.start { recorder.receive($0) }
    source.setDemand(.rate(hertz: 1, latency: .zero), for: .wifi)
    #expect(waitUntil { !recorder.statuses.isEmpty })
    for _ in 0..<20 { source.setDemand(.rate(hertz: 1, latency: .zero), for: .wifi) }
    #expect(recorder.statuses.map(\.state) == [.unavailable(reason: "wlan0: is down; bring it up")])
    #expect(radio.count == 1)
  }

  /// Results of scans by other programs are reported even if this process may not scan.
  @Test func scansOfOtherProgramsAreReportedWithoutPermission() throws {
    let (radio, recorder) = (FakeRadio(), EventRecorder())
    radio.state.withLock { $0.notice = Self.error }
    let source = try source(radio)
    defer { source.stop() }
    try source.start { recorder.receive($0) }
    source.setDemand(.rate(hertz: 1, latency: .zero), for: .wifi)
    #expect(waitUntil { scans(recorder) == 1 })
    #expect(recorder.statuses.map(\.state) == [.unavailable(reason: "\(Self.error)")])
  }

  /// A waiting scan is cancelled if the demand ends or the source stops.
  @Test func aScanIsAbandonedWithItsDemand() async throws {
    let outcomes = Locked<[ScanWait.Outcome]>([])
    let silence = try EventDescriptor()
    let source = try RadioSource(name: "modem", kind: .cellular) { wait throws(SourceError) in
      let outcome = wait.wait(for: silence.descriptor, until: .after(600))
      outcomes.withLock { $0.append(outcome) }
      return nil
    }
    let recorder = EventRecorder()
    try source.start { recorder.receive($0) }
    source.setDemand(.rate(hertz: 1, latency: .zero), for: .cellular)
    try await Task.sleep(for: .milliseconds(50))
    source.setDemand(.off, for: .cellular)
    #expect(waitUntil { outcomes.withLock { !$0.isEmpty } })
    source.setDemand(.rate(hertz: 1, latency: .zero), for: .cellular)
    source.stop()
    #expect(outcomes.withLock { $0.allSatisfy { $0 == .abandoned } } && recorder.events.isEmpty)
  }

  /// Only the cost of a cancelled scan is reported, not a status.
  @Test func theCostOfACancelledScanIsReported() throws {
    let source = try RadioSource(name: "wifi:wlan0", kind: .wifi) { _ throws(SourceError) in
      ScanResult(
        scan: RadioScan(
          timestamp: .now, sightings: [], kind: .wifi, duration: 1.5,
          isComplete: false))
    }
    defer { source.stop() }
    let recorder = EventRecorder()
    try source.start { recorder.receive($0) }
    source.setDemand(.rate(hertz: 0.01, latency: .zero), for: .wifi)
    #expect(waitUntil { scans(recorder) == 1 })
    #expect(recorder.statuses.isEmpty)
    guard case .radio(let scans)? = recorder.events.first else {
      Issue.record("\(recorder.events)")
      return
    }
    #expect(scans.map(\.isComplete) == [false] && scans.map(\.duration) == [1.5])
  }

  @Test func aMissingWirelessInterfaceIsReportedWithARemedy() throws {
    let recorder = EventRecorder()
    let source = try RadioSource(.wifi(interface: "nowhere0"))
    defer { source.stop() }
    try source.start { recorder.receive($0) }
    source.setDemand(.rate(hertz: 1, latency: .zero), for: .wifi)
    #expect(waitUntil { !recorder.statuses.isEmpty })
    guard case .unavailable(let reason)? = recorder.statuses.first?.state else {
      Issue.record("\(recorder.statuses)")
      return
    }
    #expect(reason.hasPrefix("nowhere0: no such interface; ") && reason.contains("radio.wifi"))
    #expect(throws: SourceError.self) { try WirelessInterface.known(to: "lo") }
  }
}

@Suite struct ScanScheduleTests {
  private func time(_ seconds: Double) -> Timestamp { Timestamp(seconds: seconds) }
  private func rate(_ hertz: Double) -> SensorDemand { .rate(hertz: hertz, latency: .zero) }

  @Test func aDemandStartsAScanImmediatelyAndThenPeriodically() {
    var schedule = ScanSchedule()
    #expect(schedule.due == nil)
    schedule.setDemand(rate(0.01), at: time(7))
    #expect(schedule.due == time(7))
    schedule.begin(at: time(8))
    schedule.succeed()
    #expect(schedule.due == time(108))
    schedule.setDemand(rate(0.1), at: time(50))
    #expect(schedule.due == time(18))
    schedule.setDemand(.off, at: time(51))
    #expect(schedule.due == nil)
    // A new demand starts a scan immediately, but never two within 5 s.
    schedule.setDemand(rate(0.01), at: time(60))
    #expect(schedule.due == time(60))
    schedule.begin(at: time(60))
    schedule.setDemand(.off, at: time(61))
    schedule.setDemand(rate(0.01), at: time(62))
    #expect(schedule.due == time(65))
  }

  @Test func demandsAreBounded() {
    var schedule = ScanSchedule()
    for (demand, interval): (SensorDemand, Double?) in [
      (rate(100), 5), (rate(.infinity), 5), (rate(0), nil), (rate(-1), nil), (rate(.nan), nil),
      (rate(1e-300), 31_536_000), (.dutyCycle(on: .seconds(5), period: .seconds(600)), 600),
      (.dutyCycle(on: .zero, period: .seconds(600)), nil), (.off, nil),
    ] {
      schedule.setDemand(demand, at: time(0))
      #expect(schedule.interval == interval, "\(demand)")
    }
  }

  @Test func failuresAreRetriedWithBackoff() {
    var (schedule, generator) = (ScanSchedule(), SystemRandomNumberGenerator())
    var (now, longest) = (time(0), 0.0)
    schedule.setDemand(rate(1), at: now)
    for _ in 0..<20 {
      schedule.begin(at: now)
      schedule.fail(at: now, using: &generator)
      let wait = schedule.due?.seconds(since: now) ?? 0
      #expect((10...600).contains(wait))
      longest = max(longest, wait)
      now = schedule.due ?? now
    }
    #expect(longest > 60)
    schedule.begin(at: now)
    schedule.succeed()
    #expect(schedule.due == now.advanced(bySeconds: 5))
  }
}
