import Platform
import Sensors
import Spatial
import Testing

@testable import SensorsGPSD

/// Schedule for reading delayed reports, and their time stamps, in virtual time.
@Suite struct ReportGatheringTests {
  private static let civil = UTCTime(secondsSince1970: 1_795_248_000)

  private func demand(_ latency: Double) -> SensorDemand { .rate(hertz: 1, latency: .seconds(latency)) }
  private func at(_ seconds: Double) -> MonotonicTime { .start.advanced(bySeconds: seconds) }

  @Test(arguments: [(1.0, nil), (1.9, nil), (2, 2), (7.5, 7.5), (10, 10), (60, 10)] as [(Double, Double?)])
  func readsAsRarelyAsTheLatencyAllows(latency: Double, wait: Double?) {
    var gathering = ReportGathering()
    gathering.setDemand(demand(latency), at: at(100))
    #expect(gathering.pause(at: at(100)) == wait.map { at(100 + $0) })
    #expect(gathering.drainsWithoutWaiting == (wait != nil))
    if let wait {
      #expect(gathering.pause(at: at(100 + wait)) == nil)
      gathering.caughtUp(at: at(100 + wait + 5e-9))
      #expect(gathering.pause(at: at(100 + wait + 5e-9)) == at(100 + 2 * wait + 5e-9))
    }
  }

  /// Reports of ten seconds that are read together have the times of their arrival.
  @Test func delayedReportsHaveTheirArrivalTime() {
    var gathering = ReportGathering()
    func report(_ second: Double, takenAt taken: Double) -> Double {
      gathering.arrival(
        of: Self.civil.advanced(bySeconds: second), from: "", takenAt: Timestamp(seconds: 1000 + taken)
      ).seconds - 1000
    }
    // Reports that are read immediately, with varying delays, have their own times.
    for (second, late) in [(0.0, 0.2), (1, 0.35), (2, 0.2)] {
      #expect(abs(report(second, takenAt: second + late) - (second + late)) < 1e-6)
    }
    gathering.setDemand(demand(10), at: .start)
    for second in 3...12 {
      #expect(abs(report(Double(second), takenAt: 12.9) - (Double(second) + 0.2)) < 0.002)
    }
    gathering.setDemand(demand(1), at: .start)
    #expect(gathering.isBehind)
    #expect(abs(report(13, takenAt: 15.5) - 13.2) < 0.002)
    gathering.caughtUp(at: .start)
    #expect(abs(report(16, takenAt: 16.4) - 16.4) < 1e-6)
  }

  @Test func eachReceiverHasItsOwnDelay() {
    var gathering = ReportGathering()
    gathering.setDemand(demand(10), at: .start)
    func arrival(_ receiver: String, _ second: Double, takenAt taken: Double) -> Double {
      gathering.arrival(
        of: Self.civil.advanced(bySeconds: second), from: receiver, takenAt: Timestamp(seconds: taken)
      ).seconds
    }
    _ = arrival("a", 0, takenAt: 100.2)
    _ = arrival("b", 0, takenAt: 101.2)
    for second in 5..<9 {
      #expect(abs(arrival("b", Double(second - 1), takenAt: 109) - Double(second) - 100.2) < 0.002)
      #expect(abs(arrival("a", Double(second), takenAt: 109) - Double(second) - 100.2) < 0.002)
    }
  }

  @Test func deliveriesNeverGoBack() {
    var gathering = ReportGathering()
    #expect([5.0, 4, 6].map { gathering.delivery(of: Timestamp(seconds: $0)).seconds } == [5, 5, 6])
  }

  /// A receiver without satellites reports no time. Its reports get the time at which they are read.
  @Test func aReportWithoutTimeChangesNoOther() {
    var gathering = ReportGathering()
    gathering.setDemand(demand(10), at: .start)
    _ = gathering.arrival(of: Self.civil, from: "a", takenAt: Timestamp(seconds: 100.2))
    for second in 1...9 {
      _ = gathering.arrival(of: nil, from: "b", takenAt: Timestamp(seconds: 109.9))
      let arrival = gathering.arrival(
        of: Self.civil.advanced(bySeconds: Double(second)), from: "a", takenAt: Timestamp(seconds: 109.9))
      #expect(abs(arrival.seconds - Double(second) - 100.2) < 0.002)
    }
  }

  @Test func reportsWithAnImplausibleTimeUseTheArrivalTime() {
    var gathering = ReportGathering()
    gathering.setDemand(demand(10), at: .start)
    _ = gathering.arrival(of: Self.civil, from: "", takenAt: Timestamp(seconds: 10))
    // A time stamp 1024 weeks ahead, a return to the correct time, and a missing one. Arrival times never decrease.
    for (time, taken) in [
      (Self.civil.advanced(bySeconds: 619_315_200), 20.0), (Self.civil.advanced(bySeconds: 2), 21), (nil, 22),
    ] as [(UTCTime?, Double)] {
      #expect(
        gathering.arrival(of: time, from: "", takenAt: Timestamp(seconds: taken)) == Timestamp(seconds: taken)
      )
    }
  }
}
