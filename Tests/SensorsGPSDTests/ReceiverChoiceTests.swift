import Sensors
import SensorsGPSD
import Spatial
import TestSupport
import Testing

/// The choice between the receivers of one gpsd, in virtual time.
@Suite struct ReceiverChoiceTests {
  private final class Reports {
    var choice = ReceiverChoice()

    /// Returns true if the report of a receiver is used.
    func at(
      _ seconds: Double, _ receiver: String, error: Double? = 3, hasFix: Bool = true,
      mode: FixMode = .threeDimensional
    ) -> Bool {
      var fix =
        hasFix ? Place.fix(seconds, 0, dilution: nil) : PositionFix(timestamp: Timestamp(seconds: seconds))
      fix.mode = hasFix ? mode : .noFix
      (fix.receiver, fix.horizontalError) = (receiver, error)
      return choice.admits(fix)
    }
  }

  @Test func aSingleReceiverIsUsedWithoutANotice() {
    let reports = Reports()
    for second in [0.0, 1, 2, 60, 61] { #expect(reports.at(second, "a", hasFix: second != 1)) }
    #expect(reports.choice.notice == nil)
  }

  /// Two receivers of similar quality at 1 Hz.
  @Test(arguments: [0, 0.2, 0.5]) func similarReceiversFormOneTrack(delay: Double) {
    let reports = Reports()
    for second in 0..<300 {
      #expect(reports.at(Double(second), "a", error: 3))
      #expect(!reports.at(Double(second) + delay, "b", error: 1.6))
    }
    #expect(reports.choice.notice == "uses the receiver a and ignores b; gpsd.device selects a receiver")
  }

  /// The first receiver is less accurate, while driving as while parked.
  @Test func aClearlyBetterReceiverReplacesTheFirstAfterHalfAMinute() throws {
    let reports = Reports()
    var change: Double?
    for second in 0..<120 {
      let time = Double(second)
      let usesFirst = reports.at(time, "a", error: 8)
      let usesSecond = reports.at(time + 0.5, "b", error: 2)
      #expect(!usesSecond || change != nil || usesFirst)
      if usesSecond { change = change ?? time + 0.5 }
      if let change, time > change { #expect(!usesFirst && usesSecond) }
    }
    #expect(try abs(#require(change) - 0.5 - ReceiverChoice.comparison) <= 1)
  }

  /// Two receivers report alternately.
  @Test(arguments: [5.0, 10, 30]) func slowReceiversDoNotAlternate(interval: Double) {
    let reports = Reports()
    var used: [Bool] = []
    for report in 0..<40 {
      used.append(reports.at(Double(report) * interval, "a"))
      #expect(reports.at((Double(report) + 0.5) * interval, "b") != used.last || report < 2)
    }
    #expect(Set(used.dropFirst(2)).count == 1)
    // The receiver in use disappears.
    let last = 40 * interval
    let other = used.last == true ? "b" : "a"
    #expect(!reports.at(last + interval, other) && reports.at(last + 3 * interval, other))
  }

  @Test func aShortAdvantageChangesNothing() {
    let reports = Reports()
    for second in 0..<300 {
      #expect(reports.at(Double(second), "a", error: 8))
      // The advantage ends before each comparison is complete.
      #expect(!reports.at(Double(second) + 0.5, "b", error: second % 29 == 0 ? 5 : 2))
    }
  }

  @Test func aReceiverWithoutFixesIsIgnored() {
    let reports = Reports()
    for second in 0..<120 {
      #expect(!reports.at(Double(second), "b", hasFix: false) || second == 0)
      #expect(reports.at(Double(second) + 0.5, "a"))
    }
  }

  @Test func aLostFixIsReplacedAfterFiveSecondsAndForGood() {
    let reports = Reports()
    for second in 0..<120 {
      let time = Double(second)
      let hasFix = !(20..<60).contains(second)
      // The last fix of "a" is at 19 s.
      #expect(reports.at(time, "a", hasFix: hasFix) == (time < 24.5))
      #expect(reports.at(time + 0.5, "b") == (time + 0.5 >= 24), "\(time)")
    }
  }

  @Test(arguments: [true, false]) func aSilentReceiverIsReplaced(otherHasFix: Bool) {
    let reports = Reports()
    for second in 0..<10 {
      #expect(reports.at(Double(second), "a"))
      #expect(!reports.at(Double(second) + 0.5, "b", hasFix: otherHasFix))
    }
    for second in 10..<20 {
      #expect(reports.at(Double(second) + 0.5, "b", hasFix: otherHasFix) == (second >= 14))
    }
    // It returns. Only a receiver without a fix is replaced.
    #expect(reports.at(20, "a") == !otherHasFix)
  }

  /// A receiver that repeats time and position is silent. With another time or position, or without a time, it is not.
  @Test func aHangingReceiverIsReplaced() {
    var choice = ReceiverChoice()
    func admits(_ seconds: Double, _ receiver: String, time: Double?, east: Double = 0) -> Bool {
      var fix = Place.fix(seconds, east, dilution: nil)
      fix.time = time.map { Place.start.advanced(bySeconds: $0) }
      (fix.receiver, fix.horizontalError) = (receiver, 3)
      return choice.admits(fix)
    }
    #expect(admits(0, "a", time: 0) && !choice.isRepeated)
    #expect(admits(0.1, "a", time: 0) && choice.isRepeated)
    #expect(admits(0.2, "a", time: 0, east: 5) && !choice.isRepeated)
    for second in 1..<10 { #expect(admits(Double(second), "a", time: nil) && !choice.isRepeated) }
    #expect(admits(10, "a", time: 10))
    for second in 11..<20 {
      #expect(admits(Double(second), "a", time: 10) == (second <= 15), "\(second)")
      #expect(choice.isRepeated)
      #expect(admits(Double(second) + 0.5, "b", time: Double(second)) == (second >= 15), "\(second)")
    }
  }

  @Test func aClosedReceiverIsReplacedImmediately() {
    let reports = Reports()
    #expect(reports.at(0, "a") && !reports.at(0.5, "b"))
    reports.choice.remove("a")
    #expect(reports.at(1.5, "b") && !reports.at(2, "a"))
    reports.choice.retain(["a"])
    #expect(reports.at(3, "a") && reports.choice.notice == nil)
  }

  /// At the start of each on phase of a duty cycle, the other receiver reports first.
  @Test func pausesBetweenConnectionsAreNoSilence() {
    let reports = Reports()
    #expect(reports.at(0, "a") && !reports.at(0.5, "b"))
    for phase in 1..<20 {
      reports.choice.pause()
      let time = Double(phase) * 60
      #expect(!reports.at(time, "b"))
      #expect(reports.at(time + 1, "a", hasFix: false) && !reports.at(time + 2, "b"))
      #expect(reports.at(time + 3, "a"))
    }
    // The receiver failed during a pause.
    reports.choice.pause()
    #expect(!reports.at(2000, "b") && !reports.at(2004, "b") && reports.at(2005, "b"))
  }

  /// Each on phase is shorter than the patience.
  @Test func silenceContinuesInTheNextPhase() {
    let reports = Reports()
    #expect(reports.at(0, "a") && !reports.at(0.5, "b"))
    var used: [Bool] = []
    for phase in 1...3 {
      reports.choice.pause()
      for second in 0..<3 { used.append(reports.at(Double(60 * phase + second), "b")) }
    }
    // Each phase adds 2 s to the half second before the first.
    #expect(used == [false, false, false, false, false, false, false, true, true])
  }

  /// A comparison continues in the next on phase.
  @Test func shortPhasesAddUpToAComparison() {
    let reports = Reports()
    var phases = 0
    while phases < 20 {
      phases += 1
      reports.choice.pause()
      for second in 0..<10 {
        _ = reports.at(Double(phases * 60 + second), "a", error: 8)
        if reports.at(Double(phases * 60 + second) + 0.5, "b", error: 2) { return #expect(phases == 4) }
      }
    }
    Issue.record("no change in \(phases) phases")
  }

  @Test func missingErrorsFollowFromDilutionAndMode() {
    /// Returns true if a receiver with an error of 8 m is replaced by one that reports no error.
    func isReplaced(mode: FixMode, dilution: Double? = nil, error: Double) -> Bool {
      let reports = Reports()
      for second in 0..<60 {
        var fix = Place.fix(Double(second) + 0.5, 0, dilution: dilution)
        (fix.mode, fix.receiver) = (mode, "b")
        _ = reports.at(Double(second), "a", error: error)
        if reports.choice.admits(fix) { return true }
      }
      return false
    }
    #expect(!isReplaced(mode: .threeDimensional, error: 40) && isReplaced(mode: .threeDimensional, error: 60))
    #expect(!isReplaced(mode: .twoDimensional, error: 60) && isReplaced(mode: .twoDimensional, error: 120))
    #expect(isReplaced(mode: .threeDimensional, dilution: 0.8, error: 10))
  }

  @Test func manyReceiversAreLimited() {
    let reports = Reports()
    for number in 0..<1000 { #expect(reports.at(0, "\(number)") == (number == 0)) }
    #expect(reports.choice.notice?.utf8.count ?? 0 < 200)
  }
}
