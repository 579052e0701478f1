import Glibc
import Platform
import StoreAndForward
import Telemetry
import TestSupport
import Testing

/// Damaged stores. Every lost record is reported.
@Suite struct DamageReportTests {
  let directory: TemporaryDirectory

  init() throws { directory = try TemporaryDirectory() }

  private func makeStore(
    _ name: String, using random: inout SplitMix
  ) throws -> (file: [UInt8], log: [UInt8], texts: Set<String>) {
    let path = directory.file(name)
    let outbox = try Outbox(path: path)
    var texts: Set<String> = []
    for batch in 0..<Int.random(in: 4...30, using: &random) {
      let messages = (0..<Int.random(in: 1...12, using: &random)).map { index in
        let lane = [DeliveryLane.events, .tracks, .other].randomElement(using: &random) ?? .events
        let filling = String(repeating: "x", count: Int.random(in: 1...400, using: &random))
        return draft(lane, "\(batch)/\(index)/\(filling)")
      }
      texts.formUnion(messages.map(\.text))
      outbox.append(messages)
      if batch % 3 == 0 { outbox.flush() }
    }
    outbox.flush()
    let result = (try readFile(path), try readFile(path + "-wal"), texts)
    outbox.close()
    return result
  }

  /// Damages bits, bytes or sectors of the write-ahead log or of the file. 500 stores in the full run, 60 otherwise.
  @Test(.timeLimit(.minutes(20))) func noRecordIsLostWithoutAReport() throws {
    var random = SplitMix.announced()
    let rounds = Shared.isFullRun ? 500 : 60
    var (silent, withLoss, records, lost, counted) = (0, 0, 0, 0, 0)
    for round in 0..<rounds {
      var (file, log, texts) = try makeStore("sample-\(round).sqlite", using: &random)
      func change(_ bytes: inout [UInt8]) {
        guard bytes.count > 1024 else { return }
        switch round % 3 {
        case 0:
          bytes[Int.random(in: 0..<bytes.count, using: &random)] ^=
            1 << UInt8.random(in: 0...7, using: &random)
        case 1:
          for _ in 0..<5 {
            bytes[Int.random(in: 0..<bytes.count, using: &random)] = .random(in: 0...255, using: &random)
          }
        default:
          let start = 512 * Int.random(in: 0..<bytes.count / 512, using: &random)
          for index in start..<min(start + 512, bytes.count) { bytes[index] = 0 }
        }
      }
      if round % 4 == 3 { change(&file) } else { change(&log) }
      let path = directory.file("damaged-\(round).sqlite")
      try writeFile(path, file)
      try writeFile(path + "-wal", log)
      let recorder = NoticeRecorder()
      let outbox = try Outbox(path: path, notice: recorder.handler)
      let found = Set(outbox.drain().map(\.text))
      outbox.flush()
      waitUntil(atMost: 10) { outbox.status.records == 0 }
      let damaged = outbox.status.lanes.reduce(0) { $0 + $1.damaged }
      outbox.close()
      #expect(found.isSubset(of: texts), "round \(round)")
      let missing = texts.subtracting(found).count
      let isReported =
        damaged > 0
        || recorder.notices.contains { notice in
          switch notice {
          case .setAside, .logDamaged, .damaged: true
          default: false
          }
        }
      records += texts.count
      lost += missing
      counted += damaged
      if missing > 0 { withLoss += 1 }
      if missing > 0, !isReported {
        silent += 1
        print("round \(round): \(missing) of \(texts.count) lost, notices \(recorder.notices)")
      }
    }
    print(
      "\(rounds) damaged stores, \(records) records: \(lost) lost in \(withLoss) stores, \(counted) counted, \(silent) stores "
        + "without a report")
    #expect(silent == 0)
  }

  /// SQLite ignores a log with a damaged header, and all frames from the first one with damaged salts. This
  /// test flips each bit of the header and of the salts of the third frame.
  @Test func aDamagedHeaderOfTheLogLosesNothing() throws {
    var random = SplitMix.announced()
    let (file, log, texts) = try makeStore("sample.sqlite", using: &random)
    let salts = 32 + 2 * (24 + 4096) + 8
    for bit in Array(0..<256) + Array(8 * salts..<8 * salts + 64) {
      var damaged = log
      damaged[bit / 8] ^= 1 << UInt8(bit % 8)
      let path = directory.file("damaged-\(bit).sqlite")
      try writeFile(path, file)
      try writeFile(path + "-wal", damaged)
      let recorder = NoticeRecorder()
      let outbox = try Outbox(path: path, notice: recorder.handler)
      #expect(Set(outbox.drain().map(\.text)) == texts, "bit \(bit)")
      outbox.close()
      #expect(
        recorder.notices.contains { notice in
          if case .logDamaged = notice { return true }
          return false
        }, "bit \(bit)")
    }
  }

  /// A damaged frame in the middle of the log loses only the records of its page, not the later commits.
  @Test func commitsBehindADamagedFrameAreRestored() throws {
    let path = directory.file("outbox.sqlite")
    let outbox = try Outbox(path: path)
    for number in 0..<20 {
      outbox.append(draft(.events, "record \(number) \(String(repeating: "y", count: 700))"))
      outbox.flush()
    }
    let file = try readFile(path)
    var log = try readFile(path + "-wal")
    outbox.close()
    log[32 + 24 + 4120 * (log.count / 4120 / 2) + 2000] ^= 0x10
    let copy = directory.file("copy.sqlite")
    try writeFile(copy, file)
    try writeFile(copy + "-wal", log)
    let recorder = NoticeRecorder()
    let damaged = try Outbox(path: copy, notice: recorder.handler)
    let next = damaged.append(draft(.events, "next"))
    let records = damaged.drain()
    #expect(records.count >= 19)
    #expect(records.last?.text == "next")
    #expect(!records.map(\.identity).contains("\(next.epoch) \(next.seq - 1)"))
    #expect(
      recorder.notices.contains { notice in
        if case .logDamaged(_, let pages, _, _) = notice { pages == 1 } else { false }
      }, "\(recorder.notices)")
  }

  @Test(arguments: ["", "-wal", ".lock", ".recent", ".reserve", ".salvage"])
  func fifoInPlaceOfAFileIsRejected(suffix: String) throws {
    let path = directory.file("fifo.sqlite")
    #expect(mkfifo(path + suffix, 0o600) == 0)
    do throws(OperationError) {
      _ = try Outbox(path: path)
      Issue.record("opened")
    } catch {
      #expect(error.object == path + suffix)
      #expect(error.cause.contains("FIFO"))
    }
  }

  @Test func aHardLinkOfAStoreInUseIsRefused() throws {
    let path = directory.file("outbox.sqlite")
    let link = directory.file("link.sqlite")
    let outbox = try Outbox(path: path)
    outbox.append(draft(.events, "first"))
    outbox.flush()
    #expect(Glibc.link(path, link) == 0)
    do throws(OperationError) {
      _ = try Outbox(path: link)
      Issue.record("opened twice")
    } catch { #expect(error.cause.contains("another process has it open")) }
    // The rejected attempt did not release the lock of the first outbox.
    outbox.append(draft(.events, "second"))
    outbox.close()
    #expect(try Outbox(path: path).status.records == 2)
  }
}
