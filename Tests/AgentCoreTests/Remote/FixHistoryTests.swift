import AgentCore
import Foundation
import Positioning
import Spatial
import Telemetry
import Testing

@Suite struct FixHistoryTests {
  private let path = NSTemporaryDirectory() + "odograph-\(UUID().uuidString).track"

  private func time(_ second: Int) -> UTCTime {
    UTCTime(nanoseconds: Int64(1_795_248_000 + second) * 1_000_000_000)
  }

  private func fix(_ second: Int) -> FixHistory.Fix {
    FixHistory.Fix(
      time: time(second),
      coordinate: Coordinate(latitude: Double(480_000_000 + 10 * second) / 1e7, longitude: -11.5),
      horizontalAccuracy: second.isMultiple(of: 2) ? 2.5 : nil)
  }

  private func message(_ second: Int) -> LocationMessage {
    let fix = fix(second)
    var location = Location(timestamp: Timestamp(seconds: Double(second)), coordinate: fix.coordinate)
    location.horizontalAccuracy = fix.horizontalAccuracy
    return LocationMessage(identity: nil, time: fix.time, location: PrivacyPolicy.unrestricted(location))
  }

  @Test func historyIsReadableAfterAnUncleanEnd() throws {
    do {
      var history = try FixHistory(path: path, limit: 1_000_000)
      for second in 0..<1000 { try history.record(message(second)) }
      // Fixes that are not yet on disk are found, too.
      #expect(history.fixes(from: time(990), to: time(2000), limit: 100).count == 10)
      let span = history.fixes(from: time(100), to: time(299), limit: 10_000)
      #expect(span == (100...299).map(fix))
      #expect(history.fixes(from: time(100), to: time(299), limit: 7) == (100...106).map(fix))
    }
    // Four full slots were written. The fixes of the fifth were lost with the process.
    let again = try FixHistory(path: path, limit: 1_000_000)
    #expect(again.fixes(from: time(0), to: time(2000), limit: 10_000) == (0..<812).map(fix))
    try? FileManager.default.removeItem(atPath: path)
  }

  @Test func oldestAreEvictedAndADamagedSlotLosesOnlyItself() throws {
    let limit = 4 * FixHistory.slotSize
    do {
      var history = try FixHistory(path: path, limit: limit)
      for second in 0..<(6 * FixHistory.capacity) { try history.record(message(second)) }
      let all = history.fixes(from: time(0), to: time(100_000), limit: 100_000)
      #expect(all == (2 * FixHistory.capacity..<6 * FixHistory.capacity).map(fix))
    }
    #expect(try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int == limit)
    let handle = try FileHandle(forUpdating: URL(filePath: path))
    try handle.seek(toOffset: UInt64(FixHistory.slotSize) + 100)
    try handle.write(contentsOf: [0xFF, 0xFF])
    try handle.close()
    // Slots 0 and 1 contain the fifth and sixth part.
    var damaged = try FixHistory(path: path, limit: limit)
    let rest = damaged.fixes(from: time(0), to: time(100_000), limit: 100_000)
    #expect(rest == (2 * FixHistory.capacity..<5 * FixHistory.capacity).map(fix))
    // Recording continues after the last readable slot.
    try damaged.record(message(100_000))
    try damaged.flush()
    #expect(damaged.fixes(from: time(100_000), to: time(100_000), limit: 1) == [fix(100_000)])
    try? FileManager.default.removeItem(atPath: path)
  }

  @Test func randomSlotsAreReadWithoutTrap() {
    let seed = UInt64.random(in: 0 ... .max)
    print("seed \(seed)")
    var state = seed
    var slot = FixHistory.encode([fix(1), fix(2)], sequence: 3)
    #expect(FixHistory.decode(slot)?.fixes == [fix(1), fix(2)])
    for _ in 0..<2000 {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      slot[8 + Int(state >> 33) % 70] = UInt8(truncatingIfNeeded: state >> 24)
      _ = FixHistory.decode(slot)
    }
    #expect(FixHistory.decode([]) == nil)
  }
}
