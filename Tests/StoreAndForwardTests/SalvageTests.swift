import Glibc
import Platform
import SQLite
import Spatial
import Telemetry
import TestSupport
import Testing

@testable import StoreAndForward

/// Records salvaged from damaged stores, compared with a reference that encodes rows like SQLite and searches
/// for their bytes.
@Suite struct SalvageTests {
  let directory: TemporaryDirectory

  init() throws { directory = try TemporaryDirectory() }

  /// A store, its records, and the positions of their bytes.
  private struct Sample {
    var file: [UInt8]
    var log: [UInt8]
    var records: [OutboxRecord]
    /// Positions of each record that fits into a page, counted through the file and then the log.
    var places: [(index: Int, start: Int, bytes: [UInt8])]

    var bytes: [UInt8] { file + log }
  }

  private func sample(_ name: String, isClosed: Bool, count: Int) throws -> Sample {
    let path = directory.file("\(name).sqlite")
    let outbox = try Outbox(path: path)
    var random = SplitMix(seed: 7)
    for batch in 0..<10 {
      let messages = (0..<count / 10).map { index in
        let lane = DeliveryLane.allCases[Int.random(in: 0...3, using: &random)]
        let size = index % 17 == 0 ? 9000 : Int.random(in: 20...300, using: &random)
        return draft(
          lane, String(repeating: "\(index)-", count: size / 4), topic: "topic/\(lane)/\(batch)/\(index)",
          retain: index % 3 == 0, expiry: index % 5 == 0 ? 4000 : nil)
      }
      outbox.append(messages)
    }
    let records = outbox.next(limit: 10_000).sorted { $0.seq < $1.seq }.map { record in
      var record = record
      // Records are handed out with their remaining expiry interval.
      if record.expiry != nil { record.expiry = 4000 }
      return record
    }
    if isClosed { outbox.close() }
    let file = try readFile(path)
    let log = isClosed ? [] : try readFile(path + "-wal")
    if !isClosed { outbox.close() }
    let all = file + log
    var places: [(index: Int, start: Int, bytes: [UInt8])] = []
    for (index, record) in records.enumerated() {
      guard let row = Self.row(record) else { continue }
      for start in Self.occurrences(of: row, in: all) { places.append((index, start, row)) }
    }
    return Sample(file: file, log: log, records: records, places: places)
  }

  /// Encodes a record like SQLite (https://www.sqlite.org/fileformat.html, section 2). Nil if it does not fit
  /// into a page.
  private static func row(_ record: OutboxRecord) -> [UInt8]? {
    func variable(_ value: UInt64) -> [UInt8] {
      precondition(value < 1 << 35)
      var bytes = [UInt8(value & 127)]
      var rest = value >> 7
      while rest > 0 {
        bytes.insert(UInt8(rest & 127) | 128, at: 0)
        rest >>= 7
      }
      return bytes
    }
    var types: [UInt8] = [0]
    var body: [UInt8] = []
    func integer(_ value: Int64) {
      if value == 0 || value == 1 { return types.append(UInt8(8 + value)) }
      let sizes = [1, 2, 3, 4, 6, 8]
      let fitting =
        sizes.firstIndex { $0 == 8 || (-(1 << (8 * $0 - 1))..<(1 << (8 * $0 - 1))).contains(value) } ?? 5
      types.append(UInt8(fitting + 1))
      body += (0..<sizes[fitting]).reversed().map { UInt8(truncatingIfNeeded: value >> Int64(8 * $0)) }
    }
    types += variable(UInt64(13 + 2 * record.topic.utf8.count))
    body += Array(record.topic.utf8)
    types += variable(UInt64(12 + 2 * record.payload.count))
    body += record.payload
    integer(Int64(record.qos))
    integer(record.retain ? 1 : 0)
    if let type = record.contentType {
      types += variable(UInt64(13 + 2 * type.utf8.count))
      body += Array(type.utf8)
    } else {
      types.append(0)
    }
    if let expiry = record.expiry { integer(Int64(expiry)) } else { types.append(0) }
    integer(record.createdAt.nanoseconds)
    integer(record.storedAt)
    integer(Checksum.of(record))
    let row = [UInt8(types.count + 1)] + types + body
    guard row.count <= 4096 - 35 else { return nil }
    return variable(UInt64(row.count)) + variable(record.seq) + row
  }

  private static func occurrences(of row: [UInt8], in bytes: [UInt8]) -> [Int] {
    bytes.withUnsafeBytes { whole in
      row.withUnsafeBytes { part in
        var found: [Int] = []
        var start = 0
        while start + part.count <= whole.count,
          let first = memchr(whole.baseAddress! + start, Int32(part[0]), whole.count - start - part.count + 1)
        {
          let place = first - UnsafeMutableRawPointer(mutating: whole.baseAddress!)
          if memcmp(first, part.baseAddress!, part.count) == 0 { found.append(place) }
          start = place + 1
        }
        return found
      }
    }
  }

  /// Kinds of damage to a file.
  private enum Damage: CaseIterable {
    case bits, bytes, zeroSectors, oneSectors, randomSectors, swappedPages, cut, firstPage, everything
  }

  private func damage(
    _ kind: Damage, _ sample: Sample, using random: inout SplitMix
  ) -> (file: [UInt8], log: [UInt8], moved: [Int: Int]) {
    var (file, log) = (sample.file, sample.log)
    var moved: [Int: Int] = [:]
    func below(_ bound: Int) -> Int { Int.random(in: 0..<bound, using: &random) }
    func change(_ body: (inout [UInt8]) -> Void) {
      if !log.isEmpty, below(2) == 0 { body(&log) } else { body(&file) }
    }
    switch kind {
    case .bits:
      for _ in 0...below(200) { change { $0[below($0.count)] ^= 1 << UInt8(below(8)) } }
    case .bytes:
      for _ in 0...below(100) { change { $0[below($0.count)] = UInt8(below(256)) } }
    case .zeroSectors, .oneSectors, .randomSectors:
      for _ in 0...below(4) {
        change { bytes in
          let start = 512 * below(bytes.count / 512)
          for index in start..<start + 512 {
            bytes[index] = kind == .zeroSectors ? 0 : kind == .oneSectors ? 0xFF : UInt8(below(256))
          }
        }
      }
    case .swappedPages:
      for _ in 0...below(3) {
        let (a, b) = (below(file.count / 4096), below(file.count / 4096))
        for index in 0..<4096 { file.swapAt(a * 4096 + index, b * 4096 + index) }
        let (old, new) = (moved[a] ?? a, moved[b] ?? b)
        (moved[a], moved[b]) = (new, old)
      }
    case .cut:
      if log.isEmpty || below(2) == 0 { file = Array(file.prefix(below(file.count))) }
      if !log.isEmpty { log = Array(log.prefix(below(log.count))) }
    case .firstPage:
      for index in 0..<min(4096, file.count) { file[index] = UInt8(below(256)) }
    case .everything:
      for kind in [Damage.bits, .oneSectors, .cut] {
        var next = sample
        (next.file, next.log) = (file, log)
        if next.file.isEmpty || (!sample.log.isEmpty && next.log.isEmpty) { continue }
        (file, log, _) = damage(kind, next, using: &random)
      }
    }
    return (file, log, moved)
  }

  /// Damages 10,000 files in the full run, 135 otherwise. Salvage returns only original records, each once and
  /// in order, and every record whose bytes are intact.
  @Test(.timeLimit(.minutes(60))) func salvagedRecordsMatchTheIntactBytes() throws {
    var random = SplitMix.announced()
    let samples = [
      try sample("closed", isClosed: true, count: 400), try sample("open", isClosed: false, count: 120),
      try sample("small", isClosed: true, count: 60),
    ]
    for sample in samples { #expect(sample.places.count >= sample.records.count * 8 / 10) }
    let rounds = Shared.isFullRun ? 10_000 : 135
    var (survived, salvaged, all) = (0, 0, 0)
    var (misplaced, hidden, inLogs) = (0, 0, 0)
    let path = directory.file("damaged.sqlite")
    for round in 0..<rounds {
      let sample = samples[round % samples.count]
      let kind = Damage.allCases[round / samples.count % Damage.allCases.count]
      let (file, log, moved) = damage(kind, sample, using: &random)
      try writeFile(path, file)
      if sample.log.isEmpty { unlink(path + "-wal") } else { try writeFile(path + "-wal", log) }
      var found: [OutboxRecord] = []
      _ = Salvage.run(path) {
        found += $0
        return true
      }
      var altered = 0
      let known = Dictionary(uniqueKeysWithValues: sample.records.map { ($0.seq, $0) })
      for record in found {
        var original = known[record.seq]
        // The lane is a guess if both the tree and the map are lost.
        original?.lane = record.lane
        if original != record { altered += 1 }
      }
      #expect(altered == 0, "round \(round), \(kind)")
      #expect(Set(found.map(\.seq)).count == found.count, "round \(round), \(kind)")
      for lane in DeliveryLane.allCases {
        let seqs = found.filter { $0.lane == lane }.map(\.seq)
        #expect(seqs == seqs.sorted())
      }
      misplaced += found.count { known[$0.seq]?.lane != $0.lane }
      let have = Set(found.map(\.seq))
      let positions = Dictionary(moved.map { ($1, $0) }) { first, _ in first }
      var intact: Set<UInt64> = []
      for place in sample.places {
        var start = place.start
        if start < sample.file.count {
          start = (positions[start / 4096] ?? start / 4096) * 4096 + start % 4096
          guard start + place.bytes.count <= file.count else { continue }
          if file[start..<start + place.bytes.count].elementsEqual(place.bytes) {
            intact.insert(sample.records[place.index].seq)
          }
        } else {
          start -= sample.file.count
          guard start + place.bytes.count <= log.count else { continue }
          if log[start..<start + place.bytes.count].elementsEqual(place.bytes) {
            intact.insert(sample.records[place.index].seq)
          }
        }
      }
      let missing = intact.subtracting(have)
      if sample.log.isEmpty {
        #expect(missing.isEmpty, "round \(round), \(kind): \(missing.count) of \(intact.count)")
      } else if kind != .cut && kind != .everything {
        // Without the order of the log, an older page can hide records of a newer one.
        hidden += missing.count
        inLogs += intact.count
      }
      survived += intact.count
      salvaged += found.count
      all += sample.records.count
    }
    print(
      "\(rounds) files, \(all) records, bytes of \(survived) intact, \(salvaged) salvaged, \(misplaced) in another lane, "
        + "\(hidden) of \(inLogs) in logs not found")
    #expect(misplaced <= salvaged / 50)
    #expect(hidden <= inLogs / 50)
  }

  /// A salvage that is interrupted, as by SIGTERM or a kill, continues at the next start without duplicating records.
  @Test func interruptedSalvageContinuesAtTheNextStart() throws {
    let sample = try sample("whole", isClosed: true, count: 1200)
    let path = directory.file("outbox.sqlite")
    var file = sample.file
    for index in 0..<4096 { file[index] = 0xFF }
    try writeFile(path, file)
    let recorder = NoticeRecorder()
    let questions = Locked(0)
    var kept = 0
    do {
      let outbox = try Outbox(
        path: path, notice: recorder.handler,
        isCancelled: {
          questions.withLock {
            $0 += 1
            return $0 > 1000
          }
        })
      kept = outbox.status.records
      #expect((1..<1200).contains(kept))
      outbox.append(draft(.events, "new"))
      outbox.close()
    }
    let outbox = try Outbox(path: path, notice: recorder.handler)
    #expect(outbox.status.records == 1201)
    guard case .setAside(_, _, let salvaged, let lost)? = recorder.notices.last else {
      Issue.record("\(recorder.notices)")
      return
    }
    #expect(salvaged == 1200)
    #expect(lost == 0)
    let identities = outbox.next(limit: 2000).map(\.identity)
    #expect(Set(identities).count == 1201)
    outbox.close()
    // A finished salvage is not repeated.
    #expect(try Outbox(path: path, notice: recorder.handler).status.records == 1201)
    #expect(recorder.notices.count == 2)
  }

  @Test func halfAFileYieldsItsRecordsAndCountsTheLost() throws {
    let sample = try sample("whole", isClosed: true, count: 400)
    let path = directory.file("outbox.sqlite")
    try writeFile(path, Array(sample.file.prefix(sample.file.count / 2)))
    let recorder = NoticeRecorder()
    let outbox = try Outbox(path: path, notice: recorder.handler)
    #expect(outbox.status.records > 130)
    guard case .setAside(_, _, let salvaged, let lost)? = recorder.notices.first else {
      Issue.record("\(recorder.notices)")
      return
    }
    #expect(salvaged + (lost ?? 0) == 400)
  }

  @Test func recordsOfTheFirstFormatAreRead() throws {
    let path = directory.file("outbox.sqlite")
    do {
      let outbox = try Outbox(path: path)
      outbox.append((0..<200).map { draft(.tracks, "record \($0)") })
      outbox.close()
      let database = try Database(path: path, access: .readWrite)
      var reading = try database.prepare("SELECT \(Schema.columns) FROM tracks")
      var sums: [(UInt64, Int64)] = []
      while try reading.step() {
        let record = OutboxRecord(reading, .tracks)
        sums.append((record.seq, Checksum.ofFormat1(record)))
      }
      for (seq, sum) in sums {
        try database.execute("UPDATE tracks SET checksum = \(sum) WHERE seq = \(seq)")
      }
      try database.execute("UPDATE meta SET value = '1' WHERE key = 'format'")
      try database.execute("UPDATE tracks SET payload = x'00' WHERE seq = \(sums[7].0)")
    }
    let damaged = directory.file("damaged.sqlite")
    var file = try readFile(path)
    for index in 0..<100 { file[index] = 0 }
    try writeFile(damaged, file)
    for place in [path, damaged] {
      let outbox = try Outbox(path: place)
      #expect(outbox.drain().map(\.text) == (0..<200).filter { $0 != 7 }.map { "record \($0)" })
    }
  }
}
