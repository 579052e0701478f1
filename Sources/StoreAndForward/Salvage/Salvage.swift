internal import Telemetry

/// Extracts every record with a valid checksum from a damaged store. It works page by page without SQLite,
/// which trusts the links between pages; damaged links can form cycles or lead nowhere.
///
/// Each page is read once in each of two passes: the first finds records, the second hands them over in order
/// of acceptance. A page is searched byte by byte if its own cell table does not lead to valid rows. The lane
/// of a page follows from the tree above it. If the tree is broken, it follows from the file's map of
/// parents; if both are, from other records of the same topic. No record is handed over twice, and records of
/// free pages are ignored.
struct Salvage {
  /// The result of a salvage.
  struct Result: Equatable {
    /// Number of records handed over.
    var records = 0
    /// Number of records according to the store's counters; nil if unreadable.
    var expected: Int?
    /// Number of pages that could not be read completely.
    var damagedPages = 0
    /// True if the salvage was cancelled, or the files could not be opened.
    var isCancelled = false
  }

  /// The position of a record.
  private struct Find {
    var seq: UInt64
    /// Page number; above `Salvage.frames` the index of a damaged frame, below zero a page hidden by the log.
    var page: Int32
    var place: UInt16
    /// Lane; 0xFF if unknown.
    var lane: UInt8
  }

  private static let frames: Int32 = 1 << 30
  private static let columns = 10
  private static let portion = 256
  private static let portionBytes = 256 << 10

  private let pages: PageFile
  private var reader: RowReader
  private let isCancelled: () -> Bool
  private var result = Result()
  /// Number of listed rows that contain no valid record. A page whose list of rows is unreadable counts as
  /// one.
  private var damagedRecords = 0
  private var finds: [Find] = []
  /// Lane of each page reached through the trees.
  private var owners: [Int: UInt8] = [:]
  private var laneOfTopic: [String: UInt8] = [:]
  private var page = [UInt8](repeating: 0, count: PageFile.pageSize)
  private var map = (number: 0, bytes: [UInt8](repeating: 0, count: PageFile.pageSize))
  /// True if the checksums have the first format.
  private var isFormat1 = false

  /// Lane of a page that belongs to no lane, or whose lane is unknown.
  private static let unknown: UInt8 = 0xFF

  /// Returns the records in the write-ahead log from its first damage, a frame or the header, which SQLite
  /// ignores; nil if there is no damage.
  static func lostCommits(_ path: String) -> LostCommits? {
    guard let pages = PageFile(path), let start = pages.firstDamage else { return nil }
    var salvage = Salvage(pages) { false }
    salvage.walk()
    for number in pages.pages(behind: start) {
      guard pages.read(number, into: &salvage.page), let owner = salvage.owner(number) else { continue }
      salvage.look(Int32(number), owner)
    }
    salvage.damagedRecords = 0
    salvage.lookAtDamagedFrames(isComplete: false)
    var records: [OutboxRecord] = []
    salvage.handOver(nil) {
      records += $0
      return true
    }
    return LostCommits(
      records: records, documents: documents(path), damagedPages: pages.damageCount,
      damagedRecords: salvage.damagedRecords)
  }

  /// - Parameters:
  ///   - after: lane and number of the last record of an interrupted call.
  ///   - body: receives the records of one lane after the other, in portions, in order; returns whether to
  ///     continue.
  static func run(
    _ path: String, after: (lane: DeliveryLane, seq: UInt64)? = nil,
    isCancelled: @escaping () -> Bool = { false },
    _ body: ([OutboxRecord]) -> Bool
  ) -> Result {
    // The salvage counts as cancelled, because the file may be readable at the next start.
    guard let pages = PageFile(path) else { return Result(isCancelled: true) }
    var salvage = Salvage(pages, isCancelled)
    salvage.find()
    if salvage.finds.isEmpty, !salvage.result.isCancelled {
      salvage.isFormat1 = true
      salvage.find()
    }
    salvage.handOver(after, body)
    return salvage.result
  }

  /// Returns the documents with valid checksums by name.
  static func documents(_ path: String) -> [String: [UInt8]] {
    guard let pages = PageFile(path) else { return [:] }
    var salvage = Salvage(pages) { false }
    var documents: [String: [UInt8]] = [:]
    var visited: Set<Int> = []
    var waiting = [salvage.readRoots()[Schema.documents] ?? 0]
    while let number = waiting.popLast() {
      guard number > 1, number <= pages.last, visited.insert(number).inserted,
        pages.read(number, into: &salvage.page)
      else { continue }
      waiting += RowReader.children(of: salvage.page, at: 0)
      for cell in RowReader.cells(of: salvage.page, at: 0) ?? [] {
        guard let row = salvage.reader.row(at: cell, of: salvage.page, columns: 3),
          case .text(let name) = row.values[0], case .blob(let content) = row.values[1],
          case .integer(let checksum) = row.values[2]
        else { continue }
        let document = PreservedDocument(
          name: String(decoding: row.bytes[name], as: UTF8.self), bytes: Array(row.bytes[content]))
        if Checksum.of(document) == checksum, !content.isEmpty { documents[document.name] = document.bytes }
      }
    }
    return documents
  }

  private init(_ pages: PageFile, _ isCancelled: @escaping () -> Bool) {
    self.pages = pages
    self.isCancelled = isCancelled
    reader = RowReader(pages)
  }

  // MARK: The trees

  /// Visits the tables of all lanes from their roots, each page once.
  private mutating func walk() {
    let roots = readRoots()
    for lane in DeliveryLane.allCases {
      if let root = roots[Schema.table(lane)] { owners[root] = UInt8(lane.rawValue) }
    }
    for (root, owner) in owners {
      var waiting = [root]
      while let number = waiting.popLast() {
        guard number == root || owners[number] == nil, pages.read(number, into: &page) else { continue }
        owners[number] = owner
        waiting += RowReader.children(of: page, at: 0).filter {
          $0 > 1 && $0 <= pages.last && owners[$0] == nil
        }
      }
    }
    result.expected = expectation(roots[Schema.counters])
  }

  /// Returns the root page of each table, from the first page or, if that is incomplete, as in a new store.
  private mutating func readRoots() -> [String: Int] {
    var roots = Schema.roots
    guard pages.read(1, into: &page), let cells = RowReader.cells(of: page, at: 100) else { return roots }
    for cell in cells {
      guard let row = reader.row(at: cell, of: page, columns: 5), case .text(let name) = row.values[1],
        case .integer(let root) = row.values[3], (2...Int64(max(2, pages.last))).contains(root)
      else { continue }
      let table = String(decoding: row.bytes[name], as: UTF8.self)
      if roots[table] != nil { roots[table] = Int(root) }
    }
    return roots
  }

  /// Returns the sum of the records in the lanes' counters.
  private mutating func expectation(_ root: Int?) -> Int? {
    guard let root, pages.read(root, into: &page), let cells = RowReader.cells(of: page, at: 0),
      (Schema.oldestLanes...DeliveryLane.allCases.count).contains(cells.count)
    else { return nil }
    var sum = 0
    for cell in cells {
      guard let row = reader.row(at: cell, of: page, columns: 6), case .integer(let count) = row.values[1],
        (0...(1 << 32)).contains(count)
      else { return nil }
      sum += Int(count)
    }
    return sum
  }

  /// Returns the lane of a page; nil if the page is free.
  private mutating func owner(_ number: Int) -> UInt8? {
    var number = number
    for step in 0..<20 {
      if let owner = owners[number] { return owner }
      switch entry(number) {
      case (5, let parent)?: number = parent
      case (2, _)? where step == 0: return nil
      default: return Self.unknown
      }
    }
    return Self.unknown
  }

  /// Returns a page's entry in the file's map of parents: 1 a root, 2 free, 3 and 4 overflow, 5 a page of a
  /// tree.
  private mutating func entry(_ number: Int) -> (type: UInt8, parent: Int)? {
    let span = PageFile.pageSize / 5
    guard number > 2 else { return nil }
    let place = (number - 2) / (span + 1) * (span + 1) + 2
    guard place != number else { return (3, 0) }
    if map.number != place {
      map.number = place
      guard pages.read(place, into: &map.bytes) else {
        map.number = 0
        return nil
      }
    }
    let offset = 5 * (number - place - 1)
    let parent = map.bytes[offset + 1..<offset + 5].reduce(0) { $0 << 8 | Int($1) }
    guard (1...5).contains(map.bytes[offset]), parent <= pages.last else { return nil }
    return (map.bytes[offset], parent)
  }

  // MARK: Finding

  private mutating func find() {
    walk()
    for number in stride(from: 1, through: pages.last, by: 1) {
      if isCancelled() {
        result.isCancelled = true
        return
      }
      guard pages.read(number, into: &page), let owner = owner(number) else { continue }
      look(Int32(number), owner)
    }
    lookAtDamagedFrames(isComplete: true)
  }

  /// Searches the damaged frames of the log for records.
  /// - Parameter isComplete: true to search also the older versions of their pages in the database file.
  private mutating func lookAtDamagedFrames(isComplete: Bool) {
    for (index, frame) in pages.damagedFrames.enumerated() {
      if isCancelled() {
        result.isCancelled = true
        return
      }
      guard pages.readFrame(at: frame.offset, into: &page) else { continue }
      let owner = owner(frame.page) ?? Self.unknown
      look(Self.frames + Int32(index), owner)
      // The version of the page in the database file may be older, but it is undamaged.
      if isComplete, pages.readBelowLog(frame.page, into: &page) { look(-Int32(clamping: frame.page), owner) }
    }
  }

  /// Finds the records of the current page.
  private mutating func look(_ number: Int32, _ owner: UInt8) {
    if let cells = RowReader.cells(of: page, at: 0) {
      var isWhole = true
      for cell in cells where !keep(number, cell, owner) {
        isWhole = false
        damagedRecords += 1
      }
      if isWhole { return }
    } else if page[0] == 0x05, owner != Self.unknown, RowReader.isInner(page, last: pages.last) {
      return
    }
    if owner != Self.unknown {
      result.damagedPages += 1
      // The page's list of rows is unreadable, so the page counts as one damaged record.
      if RowReader.cells(of: page, at: 0) == nil { damagedRecords += 1 }
    }
    guard page.contains(where: { $0 != 0 }) else { return }
    for header in RowReader.headers(on: page, columns: Self.columns) {
      // Size and number of the row, one to nine bytes each, precede the header.
      for place in (max(0, header - 18)...header - 2).reversed() where keep(number, place, owner) { break }
    }
  }

  /// Returns whether there is a valid record at a position of the page.
  private mutating func keep(_ number: Int32, _ place: Int, _ owner: UInt8) -> Bool {
    guard place < PageFile.pageSize, let row = reader.row(at: place, of: page, columns: Self.columns),
      let record = OutboxRecord(
        row, lane: DeliveryLane(rawValue: Int(owner)) ?? .events, isFormat1: isFormat1)
    else { return false }
    if owner != Self.unknown, record.retain { laneOfTopic[record.topic] = owner }
    finds.append(Find(seq: record.seq, page: number, place: UInt16(place), lane: owner))
    return true
  }

  // MARK: Handing over

  private mutating func handOver(
    _ after: (lane: DeliveryLane, seq: UInt64)?, _ body: ([OutboxRecord]) -> Bool
  ) {
    guard !result.isCancelled else { return }
    // Of several copies, the one from the newest page and with a known lane is used.
    func order(_ find: Find) -> (UInt64, UInt8, UInt32) {
      (find.seq, find.lane, UInt32(bitPattern: find.page))
    }
    finds.sort { order($0) < order($1) }
    finds = finds.reduce(into: []) { if $0.last?.seq != $1.seq { $0.append($1) } }
    // An unknown lane is replaced by that of other records of the topic, or by the one with the longest
    // retention.
    for index in finds.indices where finds[index].lane == Self.unknown {
      let topic = record(finds[index])?.topic ?? ""
      finds[index].lane = laneOfTopic[topic] ?? UInt8(DeliveryLane.events.rawValue)
    }
    finds.sort { ($0.lane, $0.seq) < ($1.lane, $1.seq) }
    var portion: [OutboxRecord] = []
    var bytes = 0
    for find in finds {
      if let after, (Int(find.lane), find.seq) <= (after.lane.rawValue, after.seq) {
        result.records += 1
        continue
      }
      if isCancelled() {
        result.isCancelled = true
        break
      }
      guard let record = record(find) else { continue }
      if let first = portion.first,
        first.lane != record.lane || portion.count >= Self.portion || bytes > Self.portionBytes
      {
        guard flush(&portion, body) else { return }
        bytes = 0
      }
      bytes += record.cost
      portion.append(record)
    }
    _ = flush(&portion, body)
  }

  private mutating func flush(_ portion: inout [OutboxRecord], _ body: ([OutboxRecord]) -> Bool) -> Bool {
    guard !portion.isEmpty else { return true }
    let shouldContinue = body(portion)
    if shouldContinue { result.records += portion.count } else { result.isCancelled = true }
    portion = []
    return shouldContinue
  }

  /// Reads a record again.
  private mutating func record(_ find: Find) -> OutboxRecord? {
    let isRead =
      if find.page < 0 {
        pages.readBelowLog(-Int(find.page), into: &page)
      } else if find.page >= Self.frames {
        pages.readFrame(at: pages.damagedFrames[Int(find.page - Self.frames)].offset, into: &page)
      } else {
        pages.read(Int(find.page), into: &page)
      }
    guard isRead, let row = reader.row(at: Int(find.place), of: page, columns: Self.columns) else {
      return nil
    }
    return OutboxRecord(
      row, lane: DeliveryLane(rawValue: Int(find.lane)) ?? .events, isFormat1: isFormat1)
  }
}

/// The commits of a write-ahead log from its first damaged frame. SQLite ends the log there without an error.
struct LostCommits {
  /// The records with valid checksums, some of which may be in earlier commits, too.
  var records: [OutboxRecord]
  /// The newest documents with valid checksums, also those of earlier commits.
  var documents: [String: [UInt8]]
  var damagedPages: Int
  /// Lower bound of the number of lost records, because rows of an unreadable page count as one.
  var damagedRecords: Int

  /// Reads the log of a store that is not open. Returns nil if it has no damage.
  static func read(_ path: String) -> LostCommits? { Salvage.lostCommits(path) }
}
