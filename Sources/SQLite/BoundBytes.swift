/// Where a statement keeps the texts and blobs that are bound to it: SQLite reads them from here, which spares it an
/// allocation and a copy for each.
@safe struct BoundBytes: ~Copyable {
  /// Blocks in use; only the last has room. What is bound never moves.
  private var blocks: [UnsafeMutableRawBufferPointer]
  private var used = 0

  /// Bytes that are kept from one run to the next at most.
  private static let mostKept = 1 << 20

  init() { unsafe blocks = [] }

  deinit {
    for index in unsafe blocks.indices { unsafe blocks[index].deallocate() }
  }

  /// Copies bytes to a place where they stay until `removeAll`.
  /// - Returns: the place, and the count as C functions want it. One that is too large for them is too large for SQLite.
  mutating func append(_ bytes: UnsafeRawBufferPointer) -> (start: UnsafeRawPointer?, count: Int32) {
    guard bytes.count > 0 else { return (nil, 0) }
    if unsafe (blocks.last?.count ?? 0) - used < bytes.count {
      let size = unsafe max(1024, 2 * bytes.count, 2 * (blocks.last?.count ?? 0))
      unsafe blocks.append(.allocate(byteCount: size, alignment: 8))
      used = 0
    }
    let block = unsafe blocks[blocks.count - 1]
    let place = unsafe UnsafeMutableRawBufferPointer(rebasing: block[used..<used + bytes.count])
    unsafe place.copyMemory(from: bytes)
    used += bytes.count
    return (UnsafeRawPointer(place.baseAddress), Int32(clamping: bytes.count))
  }

  /// Makes room for the next run. The largest block stays.
  mutating func removeAll() {
    used = 0
    while let last = unsafe blocks.last, unsafe blocks.count > 1 || last.count > Self.mostKept {
      unsafe blocks.removeFirst().deallocate()
    }
  }
}
