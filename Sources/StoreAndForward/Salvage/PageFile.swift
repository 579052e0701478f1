internal import Glibc

/// Reads the pages of a SQLite file after its last commit, without SQLite: for each page the newest valid
/// frame of the write-ahead log, or else the content of the file (https://www.sqlite.org/fileformat.html).
@safe final class PageFile {
  /// Page size of all stores. The value in a possibly damaged header is not used.
  static let pageSize = 4096
  private static let frameHeader = 24

  private let file: Int32
  private let log: Int32
  /// Position of each page's newest frame in the log.
  private var frames: [Int: off_t] = [:]
  /// Frames of the last commits with an invalid checksum, each with its page number as stored.
  private(set) var damagedFrames: [(page: Int, offset: Int64)] = []
  /// True if the header of a log with commits is damaged. SQLite then ignores the whole log.
  private(set) var hasDamagedHeader = false
  /// Positions of intact frames with a damaged salt, which their checksum does not cover. SQLite reads the
  /// log only up to such a frame.
  private(set) var misplacedFrames: [Int64] = []
  /// Position in the log from which SQLite ignores commits: 0 for a damaged header, otherwise that of the
  /// first damaged frame; nil if no commit is damaged.
  var firstDamage: Int64? {
    hasDamagedHeader ? 0 : (damagedFrames.map(\.offset) + misplacedFrames).min()
  }
  /// Number of damaged parts of the log: header and frames.
  var damageCount: Int { damagedFrames.count + misplacedFrames.count + (hasDamagedHeader ? 1 : 0) }
  /// Returns the pages whose newest valid frame is after an offset of the log.
  func pages(behind offset: Int64) -> [Int] { frames.filter { $0.value > off_t(offset) }.map(\.key).sorted() }
  /// Number of pages, of which the last may be truncated.
  let count: Int

  /// Opens a file; nil if it cannot be read.
  init?(_ path: String) {
    let file = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard file >= 0 else { return nil }
    log = unsafe open(path + "-wal", O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    let isMissed = log < 0 && errno != ENOENT
    self.file = file
    count = (Self.size(file) + Self.pageSize - 1) / Self.pageSize
    // A log that exists but cannot be read may contain newer pages than the file, so the file alone is not
    // used.
    if isMissed { return nil }
    readLog()
  }

  deinit {
    close(file)
    if log >= 0 { close(log) }
  }

  /// The largest page number.
  var last: Int { max(count, frames.keys.max() ?? 0) }

  /// Reads a page, counted from 1, with zeros for missing parts. Returns false if nothing of it is available.
  func read(_ page: Int, into bytes: inout [UInt8]) -> Bool {
    if let offset = frames[page] { return Self.read(log, offset, into: &bytes) }
    guard page >= 1, page <= count else { return false }
    return Self.read(file, off_t(page - 1) * off_t(Self.pageSize), into: &bytes)
  }

  /// Reads a page of the file, ignoring the log.
  func readBelowLog(_ page: Int, into bytes: inout [UInt8]) -> Bool {
    guard page >= 1, page <= count else { return false }
    return Self.read(file, off_t(page - 1) * off_t(Self.pageSize), into: &bytes)
  }

  /// Reads the page of a damaged frame.
  func readFrame(at offset: Int64, into bytes: inout [UInt8]) -> Bool {
    Self.read(log, off_t(offset), into: &bytes)
  }

  // MARK: The log

  private func readLog() {
    guard log >= 0 else { return }
    let step = Self.frameHeader + Self.pageSize
    let number = max(0, Self.size(log) - 32) / step
    guard number > 0 else { return }
    var header = [UInt8](repeating: 0, count: 32)
    guard Self.read(log, 0, into: &header) else { return }
    let isHeaderSound = Self.isSound(header)
    let isBigEndian = isHeaderSound ? header[3] & 1 == 1 : hasBigEndianFrames(number)
    var frame = [UInt8](repeating: 0, count: step)
    // The salts identify frames of the current log.
    let salts = salts(header, number)
    var sum = (Self.word(header, 24), Self.word(header, 28))
    // The checksum that the header must have, in case only the header's stored checksum is damaged.
    let computed = Self.checksum(header[0..<24], (0, 0), isBigEndian)
    var reached = 0
    var wasOfThisLog = true
    var pending: [LogFrame] = []
    for index in 0..<number {
      let offset = off_t(32 + index * step)
      guard Self.read(log, offset, into: &frame) else { break }
      // The checksum of each frame continues from the stored one of its predecessor.
      let isSound =
        Self.isSound(frame, after: sum, isBigEndian)
        || index == 0 && !isHeaderSound && Self.isSound(frame, after: computed, isBigEndian)
      sum = (Self.word(frame, 16), Self.word(frame, 20))
      // A valid continuation of a frame of this log belongs to it, whatever its salts, which the checksum
      // does not cover.
      let hasSalts = Array(frame[8..<16]) == salts
      let isOfThisLog = hasSalts || isSound && wasOfThisLog
      // After the end of the current log, the file contains frames of the previous log.
      if isSound && !isOfThisLog { break }
      wasOfThisLog = isOfThisLog
      pending.append(
        LogFrame(
          page: Int(Self.word(frame, 0)), offset: offset + off_t(Self.frameHeader), isSound: isSound,
          hasSalts: hasSalts))
      if isOfThisLog { reached = pending.count }
      guard Self.word(frame, 4) != 0 else { continue }
      commit(pending[...])
      (pending, reached) = ([], 0)
    }
    // After the last valid commit, a damaged frame may have been a commit. The frames up to the damage are
    // then treated as committed.
    let rest = pending.prefix(reached)
    if rest.contains(where: { !$0.isSound }) { commit(rest) }
    hasDamagedHeader = !isHeaderSound && !(frames.isEmpty && damagedFrames.isEmpty)
  }

  /// Returns whether a header is one that SQLite accepts.
  private static func isSound(_ header: [UInt8]) -> Bool {
    let magic = word(header, 0)
    guard magic & ~1 == 0x377f_0682, word(header, 8) == UInt32(pageSize) else { return false }
    return checksum(header[0..<24], (0, 0), magic & 1 == 1) == (word(header, 24), word(header, 28))
  }

  private static func isSound(_ frame: [UInt8], after sum: (UInt32, UInt32), _ isBigEndian: Bool) -> Bool {
    let own = checksum(frame[frameHeader...], checksum(frame[0..<8], sum, isBigEndian), isBigEndian)
    return own == (word(frame, 16), word(frame, 20))
  }

  /// Returns whether the checksums of the frames are in big-endian order, by the first frame that continues
  /// its predecessor.
  private func hasBigEndianFrames(_ number: Int) -> Bool {
    let step = Self.frameHeader + Self.pageSize
    var frame = [UInt8](repeating: 0, count: step)
    var sum: (UInt32, UInt32)?
    for index in 0..<number {
      guard Self.read(log, off_t(32 + index * step), into: &frame) else { break }
      if let sum, Self.isSound(frame, after: sum, true) { return true }
      if let sum, Self.isSound(frame, after: sum, false) { return false }
      sum = (Self.word(frame, 16), Self.word(frame, 20))
    }
    return false
  }

  /// Returns the salts by majority of the header and the first frames, some of which may be damaged.
  private func salts(_ header: [UInt8], _ number: Int) -> [UInt8] {
    var found = [Array(header[16..<24])]
    var salts = [UInt8](repeating: 0, count: 8)
    for index in 0..<min(3, number) {
      let offset = off_t(32 + index * (Self.frameHeader + Self.pageSize) + 8)
      if Self.read(log, offset, into: &salts) { found.append(salts) }
    }
    func votes(_ salts: [UInt8]) -> Int { found.count { $0 == salts } }
    return found.dropFirst().reduce(found[0]) { votes($1) > votes($0) ? $1 : $0 }
  }

  /// A frame of the current log.
  private struct LogFrame {
    var page: Int
    /// Position in the log of the page that the frame contains.
    var offset: off_t
    /// True if the checksum is correct.
    var isSound: Bool
    /// True if the salts match the header of the write-ahead log.
    var hasSalts: Bool
  }

  private func commit(_ committed: ArraySlice<LogFrame>) {
    for frame in committed {
      if frame.isSound {
        frames[frame.page] = frame.offset
        // The position of the frame's header precedes that of its page, so that `pages(behind:)` includes the
        // page.
        if !frame.hasSalts { misplacedFrames.append(Int64(frame.offset) - Int64(Self.frameHeader)) }
      } else {
        damagedFrames.append((frame.page, Int64(frame.offset)))
      }
    }
  }

  private static func checksum(
    _ bytes: ArraySlice<UInt8>, _ start: (UInt32, UInt32), _ isBigEndian: Bool
  ) -> (UInt32, UInt32) {
    var (first, second) = start
    unsafe bytes.withUnsafeBytes { bytes in
      for index in stride(from: 0, to: bytes.count, by: 8) {
        let a = unsafe bytes.loadUnaligned(fromByteOffset: index, as: UInt32.self)
        let b = unsafe bytes.loadUnaligned(fromByteOffset: index + 4, as: UInt32.self)
        first &+= (isBigEndian ? UInt32(bigEndian: a) : UInt32(littleEndian: a)) &+ second
        second &+= (isBigEndian ? UInt32(bigEndian: b) : UInt32(littleEndian: b)) &+ first
      }
    }
    return (first, second)
  }

  private static func word(_ bytes: [UInt8], _ offset: Int) -> UInt32 {
    bytes[offset..<offset + 4].reduce(0) { $0 << 8 | UInt32($1) }
  }

  private static func size(_ descriptor: Int32) -> Int {
    var status = stat()
    return unsafe fstat(descriptor, &status) == 0 ? Int(status.st_size) : 0
  }

  /// Fills the bytes, with zeros after the end of the file. Returns false if nothing can be read.
  private static func read(_ descriptor: Int32, _ offset: off_t, into bytes: inout [UInt8]) -> Bool {
    var have = 0
    unsafe bytes.withUnsafeMutableBytes { buffer in
      while have < buffer.count {
        let rest = unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[have...])
        let count = unsafe pread(descriptor, rest.baseAddress, rest.count, offset + off_t(have))
        if count < 0, errno == EINTR { continue }
        // Only the unreadable sector counts as lost, not the whole page.
        let lost = count < 0 && errno == EIO
        guard count > 0 || lost else { break }
        let step = lost ? min(512, rest.count) : count
        if lost { for index in 0..<step { unsafe rest[index] = 0 } }
        have += step
      }
      for index in have..<buffer.count { unsafe buffer[index] = 0 }
    }
    return have > 0
  }
}
