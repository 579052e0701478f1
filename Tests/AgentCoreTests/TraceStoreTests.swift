import AgentCore
import Foundation
import Pipeline
import Sensors
import Simulation
import Spatial
import Telemetry
import TestSupport
import Testing
import Traces

/// Traces from the sensors to published messages, with kills and power losses.
@Suite struct TraceStoreTests {
  @Test func impactStoresTraceAndPublishesSummaryImmediately() throws {
    let events = TraceDrive.drive(seed: 5)
    try TraceDrive.withFolder { folder in
      var (store, told) = (TraceDrive.store(folder), ToldTraces())
      var summaryAt: Double?
      for (at, steps) in try TraceDrive.steps(events) {
        let messages = store.process(steps)
        if summaryAt == nil, !messages.isEmpty {
          summaryAt = at
          // The trace is on disk before the message is published.
          let bytes = try Data(contentsOf: URL(filePath: folder + "/0000000001.trace"))
          let file = try #require(TraceFile(bytes: Array(bytes)))
          TraceDrive.expectAll(
            TraceDrive.fed(events, from: TraceDrive.blow - 15, to: TraceDrive.blow + 0.11),
            in: TraceDrive.scans(file), "at the end of the impact")
        }
        told.receive(messages)
        store.confirm { true }
      }
      let trace = try #require(told.messages.first?.trace)
      #expect(Set(told.messages.map(\.trace)).count == 1 && trace.number == 1)
      // The end of the impact is detected within 30 ms and published with the block that contains it.
      #expect(try #require(summaryAt) <= TraceDrive.blow + 0.1 + 0.03 + 0.1)
      let summary = told.messages[0]
      #expect(summary.revision == 1 && summary.state == .recording && summary.cause == .impact)
      let impact = try #require(summary.impact)
      #expect(abs(impact.changeOfVelocity.y + 10) < 0.5 && impact.severity == .moderate)
      #expect(impact.speedBefore.map { abs($0 - 15) < 1 } == true && summary.coordinate != nil)
      #expect(abs(summary.time.seconds(since: TraceDrive.start.advanced(bySeconds: TraceDrive.blow))) < 0.1)

      let last = try #require(told.newest(trace))
      #expect(last.state == .complete && abs(last.before - 15) < 0.1 && last.after == 15)
      let file = try told.file(trace)
      TraceDrive.expectAll(
        TraceDrive.fed(events, from: TraceDrive.blow - 15, to: TraceDrive.blow + 14.9),
        in: TraceDrive.scans(file), "whole")
      let fixes = file.samples.filter { if case .fix(let fix) = $0 { fix.coordinate != nil } else { false } }
      #expect(fixes.count >= 29)
      // The result of the impact follows after half a minute.
      #expect(told.messages.count >= 3 && last.impact?.hasRolledOver == false)
      #expect(!FileManager.default.fileExists(atPath: folder + "/0000000001.trace"))
      #expect(FileManager.default.fileExists(atPath: folder + "/0000000001.sent"))
    }
  }

  /// A kill or power loss at 100 random times around an impact, before or after the outbox has the messages: at
  /// most one trace results, none without a message, and at most its last second is missing.
  @Test(arguments: [UInt64(1), 2]) func hundredKillsLoseNoTrace(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let events = TraceDrive.drive(seed: seed)
    let steps = try TraceDrive.steps(events)
    for number in 0..<100 {
      let kill =
        number < 40 ? Double.random(in: 59.9...60.6, using: &random) : .random(in: 60...77, using: &random)
      // Either the last messages are not in the outbox, or the store has not received their confirmation.
      let (isLost, isUnconfirmed) = (Bool.random(using: &random), Bool.random(using: &random))
      let tear = Int.random(in: 0..<40, using: &random)
      let what = "seed \(seed), killed at \(kill), lost \(isLost), unconfirmed \(isUnconfirmed), torn \(tear)"
      try TraceDrive.withFolder { folder in
        var (store, told) = (TraceDrive.store(folder), ToldTraces())
        var began = false
        let until = steps.prefix { $0.at <= kill }
        for (index, (_, due)) in until.enumerated() {
          let messages = store.process(due)
          began = began || !messages.isEmpty
          let isLast = index == until.count - 1
          if isLast, isLost { break }
          told.receive(messages)
          if isLast, isUnconfirmed { break }
          store.confirm { true }
        }
        // An incomplete write at the time of a power loss.
        let path = folder + "/0000000001.trace"
        if tear > 0, let handle = FileHandle(forWritingAtPath: path) {
          try handle.seekToEnd()
          try handle.write(contentsOf: Array(repeating: UInt8(7), count: tear))
          try handle.close()
        }
        var second = TraceDrive.store(folder)
        told.receive(second.resume(try TraceDrive.places()))
        second.confirm { true }
        var third = TraceDrive.store(folder)
        #expect(third.resume(try TraceDrive.places()).isEmpty, "\(what)")
        guard began else {
          #expect(told.messages.isEmpty, "\(what)")
          return
        }
        #expect(Set(told.messages.map(\.trace)).count == 1, "\(what)")
        let trace = try #require(told.messages.first?.trace, "\(what)")
        let end = min(kill - 1.2, TraceDrive.blow + 14.9)
        TraceDrive.expectAll(
          TraceDrive.fed(events, from: TraceDrive.blow - 15, to: max(end, TraceDrive.blow + 0.1)),
          in: TraceDrive.scans(try told.file(trace)),
          what)
        let newest = try #require(told.newest(trace))
        #expect(newest.state == (kill < TraceDrive.blow + 15 ? .interrupted : newest.state), "\(what)")
        #expect(newest.impact?.severity == .moderate, "\(what)")
      }
    }
  }

  @Test func numbersAreUniqueAndOldestTracesAreEvicted() throws {
    let steps = try TraceDrive.steps(TraceDrive.drive(seed: 9)).flatMap(\.steps)
    try TraceDrive.withFolder { folder in
      var told = ToldTraces()
      for _ in 0..<4 {
        var store = TraceDrive.store(folder, count: 2)
        told.receive(store.process(steps))
        store.confirm { true }
      }
      #expect(Set(told.messages.map(\.trace.series)).count == 1)
      #expect(Set(told.messages.map(\.trace.number)) == [1, 2, 3, 4])
      let names = try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
      #expect(
        names == ["0000000003.json", "0000000003.sent", "0000000004.json", "0000000004.sent", "counter"])
      // After all files are deleted, numbering continues.
      for name in names where name != "counter" {
        try FileManager.default.removeItem(atPath: "\(folder)/\(name)")
      }
      var store = TraceDrive.store(folder, bytes: 0)
      told.receive(store.process(steps))
      store.confirm { true }
      #expect(told.messages.map(\.trace.number).max() == 5)
      #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == ["counter"])
    }
  }

  /// If the disk cannot be written, the trace is published, but not available after a restart.
  @Test func traceIsPublishedWithoutADisk() throws {
    let events = TraceDrive.drive(seed: 3)
    var (store, told) = (TraceDrive.store("/proc/nothing/traces"), ToldTraces())
    for (_, steps) in try TraceDrive.steps(events) {
      told.receive(store.process(steps))
      store.confirm { true }
    }
    let trace = try #require(told.messages.first?.trace)
    TraceDrive.expectAll(
      TraceDrive.fed(events, from: TraceDrive.blow - 15, to: TraceDrive.blow + 14.9),
      in: TraceDrive.scans(try told.file(trace)), "no disk")
  }

  @Test func withheldPositionsAreNotInTraces() throws {
    let steps = try TraceDrive.steps(TraceDrive.drive(seed: 4), ["location.desired_accuracy=reduced"])
      .flatMap(\.steps)
    var blocks: [[UInt8]] = []
    for step in steps {
      switch step {
      case .begin(_, let message, _, let new):
        #expect(message.coordinate == nil && message.impact != nil && message.impact?.speedBefore == nil)
        blocks += new
      case .append(_, let new): blocks += new
      case .tell(_, let message), .end(_, let message, _): #expect(message.impact?.rest == nil)
      case .withhold: Issue.record("unexpected removal of positions")
      }
    }
    let fixes = blocks.flatMap { TraceBlock(bytes: $0)?.samples ?? [] }.compactMap {
      if case .fix(let fix) = $0 { fix } else { nil }
    }
    #expect(!fixes.isEmpty && fixes.allSatisfy { $0.coordinate == nil && $0.speed == nil })
  }

  @Test func disabledTracesStoreNothing() throws {
    let steps = try TraceDrive.steps(TraceDrive.drive(seed: 4), ["trace.severity=severe"]).flatMap(\.steps)
    #expect(steps.isEmpty)
    let off = try TraceDrive.steps(TraceDrive.drive(seed: 4), ["trace.enabled=false"]).flatMap(\.steps)
    #expect(off.isEmpty)
  }
}
