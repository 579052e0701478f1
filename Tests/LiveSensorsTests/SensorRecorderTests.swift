import Foundation
import Glibc
import LiveSensors
import Motion
import Platform
import Sensors
import Spatial
import TestSupport
import Testing

@Suite struct SensorRecorderTests {
  private static let boot = BootIdentity(high: 1, low: 2)
  private static let offset: Int64 = 1_795_248_930_000_000_000
  private static let slot = 4096
  private static let perSlot = 504

  private func withFolder(_ body: (String) throws -> Void) throws {
    let url = FileManager.default.temporaryDirectory.appendingPathComponent("odograph-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: url) }
    try body(url.path)
  }

  private func sample(_ index: Int) -> AccelerometerData {
    let t = Double(index)
    return AccelerometerData(
      timestamp: Timestamp(nanoseconds: Int64(index) * 20_000_000 + Int64(index % 7) * 31_000),
      acceleration: Vector3(sin(t / 9), cos(t / 5) * 0.3, -1 + 0.001 * Double(index % 11)))
  }

  private func settings(slots: Int) -> SensorRecorder.Settings {
    var settings = SensorRecorder.Settings()
    settings.sizeLimit = slots * Self.slot
    return settings
  }

  private func all(_ recorder: borrowing SensorRecorder) throws -> RecordedHistory {
    try recorder.accelerometerData(from: UTCTime(nanoseconds: 0), to: UTCTime(nanoseconds: .max))
  }

  private func fill(_ path: String, slots: Int, count: Int, boot: BootIdentity = boot) throws {
    var recorder = try SensorRecorder(path: path, boot: boot, settings: settings(slots: slots))
    try recorder.record((0..<count).map(sample), utcOffset: Self.offset)
    try recorder.synchronize()
  }

  /// Reading in pieces gives the same samples as a single read, including unfinished segments and a clock that
  /// was set back.
  @Test func segmentsFormTheWholeRecording() throws {
    try withFolder { folder in
      var recorder = try SensorRecorder(path: folder + "/a", boot: Self.boot, settings: settings(slots: 20))
      try recorder.record((0..<2000).map(sample), utcOffset: Self.offset)
      try recorder.record((2000..<3300).map(sample), utcOffset: Self.offset - 8_000_000_000)
      let end = UTCTime(nanoseconds: .max)
      let whole = try recorder.accelerometerData(from: UTCTime(nanoseconds: 0), to: end, limit: 10_000)
      #expect(whole.samples.count == 3300 && whole.next == nil)
      #expect(whole.samples.map(\.time) == whole.samples.map(\.time).sorted())
      var found: [RecordedAccelerometerData] = []
      var from: UTCTime? = UTCTime(nanoseconds: 0)
      var pieces = 0
      while let start = from {
        let piece = try recorder.accelerometerData(from: start, to: end, limit: 300)
        #expect(piece.samples.count <= 300)
        let last = found.last
        found += piece.samples.filter { sample in
          last.map { (sample.time, sample.timestamp) > ($0.time, $0.timestamp) } ?? true
        }
        (from, pieces) = (piece.next, pieces + 1)
        #expect(pieces < 100)
      }
      #expect(found.count == 3300 && found.map(\.time) == whole.samples.map(\.time))
      let recorded = recorder.recordedSpan
      let span = try #require(recorded)
      #expect(span.start == whole.samples.first?.time && span.end == whole.samples.last?.time)
      let empty = try recorder.accelerometerData(
        from: UTCTime(nanoseconds: 0), to: span.start.advanced(bySeconds: -1), limit: 9)
      #expect(empty.samples.isEmpty && empty.next == nil)
    }
  }

  @Test func recordingIsReadableByTime() throws {
    try withFolder { folder in
      let path = folder + "/a"
      try fill(path, slots: 10, count: 1200)
      let recorder = try SensorRecorder(reading: path)
      let history = try all(recorder)
      #expect(history.samples.count == 1200)
      #expect(history.gaps.isEmpty && history.undatedSegments == 0)
      for (index, recorded) in history.samples.enumerated() {
        let truth = sample(index)
        #expect((recorded.acceleration - truth.acceleration).length < 6e-5)
        #expect(abs(recorded.timestamp.seconds(since: truth.timestamp)) < 1e-6)
      }
      let from = UTCTime(nanoseconds: Self.offset + 10_000_000_000)
      let part = try recorder.accelerometerData(from: from, to: from.advanced(bySeconds: 2))
      #expect((100...101).contains(part.samples.count))
      #expect(part.samples.allSatisfy { $0.time >= from && $0.time <= from.advanced(bySeconds: 2) })
    }
  }

  @Test func ringRetainsItsSizeAndTheNewest() throws {
    try withFolder { folder in
      let path = folder + "/a"
      for count in [1, 2, 3, 4, 7, 9] {
        try? FileManager.default.removeItem(atPath: path)
        try fill(path, slots: 3, count: count * Self.perSlot)
        let size = try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int
        #expect(size == min(count, 3) * Self.slot)
        let history = try all(try SensorRecorder(reading: path))
        #expect(history.samples.count == min(count, 3) * Self.perSlot)
        let last = try #require(history.samples.last)
        #expect(abs(last.timestamp.seconds(since: sample(count * Self.perSlot - 1).timestamp)) < 1e-6)
        #expect(history.gaps.isEmpty)
        #expect(history.samples.map(\.time) == history.samples.map(\.time).sorted())
      }
    }
  }

  /// A file truncated at any byte of its last segment can be opened and loses at most that segment. Recording
  /// continues.
  @Test func truncatedEndLosesOneSegment() throws {
    try withFolder { folder in
      let path = folder + "/a"
      try fill(path, slots: 5, count: 3 * Self.perSlot)
      let whole = try Data(contentsOf: URL(fileURLWithPath: path))
      // Each byte of the segment's header and of its end, and some bytes in between.
      let cuts = (2 * Self.slot...3 * Self.slot).filter {
        $0 < 2 * Self.slot + 64 || $0 > 3 * Self.slot - 32 || $0 % 29 == 0 || $0 % 256 == 7
      }
      for cut in cuts {
        try whole.prefix(cut).write(to: URL(fileURLWithPath: path))
        let isWhole = cut == 3 * Self.slot
        let opened = try SensorRecorder(reading: path)
        let (damaged, kept) = (opened.damagedSegments, opened.segmentLimit)
        #expect(damaged == (isWhole || cut == 2 * Self.slot ? 0 : 1))
        #expect(kept == (isWhole ? 3 : 2))
        guard isWhole || cut % 256 == 7 else { continue }
        let history = try all(opened)
        // A full segment ends with the last byte of its last sample.
        #expect(history.samples.count == (isWhole ? 3 : 2) * Self.perSlot)
        guard !isWhole else { continue }
        var recorder = try SensorRecorder(path: path, boot: Self.boot, settings: settings(slots: 5))
        try recorder.record((2000..<2010).map(sample), utcOffset: Self.offset)
        try recorder.flush()
        let after = try all(recorder)
        #expect(after.samples.count == 2 * Self.perSlot + 10)
        #expect(after.gaps.count == 1 && after.gaps.first?.isRestart == false)
      }
    }
  }

  @Test func damagedSegmentAffectsNoOther() throws {
    var generator = SplitMix.announced()
    try withFolder { folder in
      let path = folder + "/a"
      try fill(path, slots: 5, count: 4 * Self.perSlot)
      let whole = try Data(contentsOf: URL(fileURLWithPath: path))
      for _ in 0..<200 {
        var damaged = whole
        let place = Int(generator.next() % UInt64(whole.count))
        damaged[place] ^= UInt8(1 << (generator.next() % 8))
        try damaged.write(to: URL(fileURLWithPath: path))
        let recorder = try SensorRecorder(reading: path)
        let (damagedCount, count) = (recorder.damagedSegments, try all(recorder).samples.count)
        #expect(damagedCount == 1, "byte \(place)")
        #expect(count == 3 * Self.perSlot)
      }
    }
  }

  @Test func historySurvivesARestart() throws {
    try withFolder { folder in
      let path = folder + "/a"
      try fill(path, slots: 10, count: 100)
      // In the second run, the clock is set late. The first segment is dated with the offset that becomes known later.
      var recorder = try SensorRecorder(
        path: path, boot: BootIdentity(high: 9, low: 9), settings: settings(slots: 10))
      try recorder.record((0..<50).map(sample), utcOffset: nil)
      try recorder.record((50..<100).map(sample), utcOffset: Self.offset + 3_600_000_000_000)
      try recorder.flush()
      let history = try all(recorder)
      #expect(history.samples.count == 200)
      #expect(history.gaps.count == 1)
      #expect(history.gaps.first?.isRestart == true)
      #expect(Set(history.samples.map(\.boot)).count == 2)
    }
  }

  @Test func samplesWithoutCivilTimeAreOnlyCounted() throws {
    try withFolder { folder in
      var recorder = try SensorRecorder(path: folder + "/a", boot: Self.boot, settings: settings(slots: 4))
      try recorder.record((0..<50).map(sample), utcOffset: nil)
      try recorder.flush()
      let history = try all(recorder)
      #expect(history.samples.isEmpty && history.undatedSegments == 1)
    }
  }

  @Test func gapsInvalidSamplesAndIntervalAreRespected() throws {
    try withFolder { folder in
      var recorder = try SensorRecorder(path: folder + "/a", boot: Self.boot, settings: settings(slots: 4))
      let quick = (0..<100).map {
        AccelerometerData(timestamp: Timestamp(seconds: Double($0) / 100), acceleration: Vector3(0, 0, -1))
      }
      let bad = AccelerometerData(timestamp: Timestamp(seconds: 1.5), acceleration: Vector3(.nan, 0, 0))
      let late = AccelerometerData(timestamp: Timestamp(seconds: 9), acceleration: Vector3(0, 0, -1))
      try recorder.record(quick + [bad, late, late], utcOffset: Self.offset)
      try recorder.flush()
      let history = try all(recorder)
      #expect(history.samples.count == 51)
      #expect(history.gaps.count == 1)
      recorder.recordAccelerometer(forDuration: 1, from: Timestamp(seconds: 9))
      try recorder.record((500..<600).map(sample), utcOffset: Self.offset)
      try recorder.flush()
      let limited = try all(recorder)
      #expect(limited.samples.last?.timestamp.seconds ?? 99 <= 10.001)
    }
  }

  @Test func onlyOneWriterIsAllowed() throws {
    try withFolder { folder in
      let first = try SensorRecorder(path: folder + "/a", boot: Self.boot)
      do {
        _ = try SensorRecorder(path: folder + "/a", boot: Self.boot)
        Issue.record("expected an error for a second writer")
      } catch let error as SystemError {
        #expect(error.code == EWOULDBLOCK)
        #expect(error.description.contains("lock"))
      }
      let limit = first.segmentLimit
      #expect(limit > 1)
      _ = try SensorRecorder(reading: folder + "/a")
      do {
        _ = try SensorRecorder(reading: folder + "/nowhere")
        Issue.record("expected an error")
      } catch let error as SystemError { #expect(error.code == ENOENT) }
    }
  }

  /// Uses a real file system of 40 kB that is full.
  @Test(.needs(.mounting)) func fullDiskShortensTheRing() throws {
    let disk = try SmallFileSystem(size: "40k")
    var recorder = try SensorRecorder(path: disk.file("a"), boot: Self.boot, settings: settings(slots: 1000))
    try recorder.record((0..<30 * Self.perSlot).map(sample), utcOffset: Self.offset)
    let (isShort, limit) = (recorder.isShortOfSpace, recorder.segmentLimit)
    #expect(isShort)
    #expect(limit == 10)
    let history = try all(recorder)
    #expect(history.samples.count == 10 * Self.perSlot)
    #expect(history.gaps.isEmpty)
    #expect(
      abs(
        (history.samples.last?.timestamp ?? Timestamp(nanoseconds: 0)).seconds
          - sample(30 * 504 - 1).timestamp.seconds)
        < 1e-5)
  }

  @Test func bootIdentitiesAreDistinguished() {
    #expect(
      BootIdentity("01234567-89ab-cdef-0011-223344556677\n")
        == BootIdentity(high: 0x0123_4567_89AB_CDEF, low: 0x0011_2233_4455_6677))
    for text in ["", "x", "0123456789abcdef001122334455667", "g1234567-89ab-cdef-0011-223344556677"] {
      #expect(BootIdentity(text) == nil)
    }
  }
}
