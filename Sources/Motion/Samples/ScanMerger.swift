internal import Sensors
internal import Spatial

/// Puts the scans of several devices in order of time, however their blocks arrive. Pure.
///
/// Each device hands over blocks of its own. A filter that is given the forces of a tenth of a second before the rotations
/// of that time, or after, is wrong by ten degrees in fast motion. So a scan waits until no sensor that is not in it can
/// have an older sample: each has spoken of that time or a later one, or has been silent for much longer than it takes
/// between its blocks.
struct ScanMerger: Sendable {
  struct Element: Sendable {
    var scan: InertialScan
    var doubts: ScanDoubts

    /// In order of time; at the same time rotations come before forces, and fields last.
    func precedes(_ other: Element) -> Bool {
      scan.timestamp != other.scan.timestamp ? scan.timestamp < other.scan.timestamp : rank < other.rank
    }

    private var rank: Int { scan.rotationRate != nil ? 0 : scan.specificForce != nil ? 1 : 2 }
  }

  /// Times between two blocks after which a sensor counts as silent, since some come late over a network.
  private static let patience = 3.0
  /// s; nothing waits longer, whatever the blocks were.
  private static let longestWait = 2.0
  /// Scans handed out are moved out of the way from here on, which costs little and keeps the array from growing.
  private static let tidyCount = 256

  private var gyroscope = BlockRhythm()
  private var accelerometer = BlockRhythm()
  private var magnetometer = BlockRhythm()
  /// In order from `head` to the block that is being taken in; those before have been handed out.
  private var waiting: [Element] = []
  private var head = 0
  private var blockStart = 0
  private var scratch: [Element] = []

  /// Takes a block's next scan; one of a thermometer alone is in nobody's way.
  mutating func append(_ scan: InertialScan, _ doubts: ScanDoubts) {
    guard scan.rotationRate != nil || scan.specificForce != nil || scan.magneticField != nil else { return }
    if scan.rotationRate != nil { gyroscope.add(scan.timestamp) }
    if scan.specificForce != nil { accelerometer.add(scan.timestamp) }
    if scan.magneticField != nil { magnetometer.add(scan.timestamp) }
    waiting.append(Element(scan: scan, doubts: doubts))
  }

  /// The block is complete.
  mutating func endBlock() {
    gyroscope.endBlock()
    accelerometer.endBlock()
    magnetometer.endBlock()
    for index in waiting.indices.dropFirst(blockStart + 1) {
      var place = index
      while place > blockStart, waiting[place].precedes(waiting[place - 1]) {
        waiting.swapAt(place, place - 1)
        place -= 1
      }
    }
    if blockStart > head, blockStart < waiting.count, waiting[blockStart].precedes(waiting[blockStart - 1]) {
      mergeBlock()
    }
    blockStart = waiting.count
  }

  /// Merges the ordered block into what waits, from the back.
  private mutating func mergeBlock() {
    scratch.removeAll(keepingCapacity: true)
    scratch.append(contentsOf: waiting[blockStart...])
    var before = blockStart - 1
    var place = waiting.count - 1
    for element in scratch.reversed() {
      while before >= head, element.precedes(waiting[before]) {
        waiting[place] = waiting[before]
        (before, place) = (before - 1, place - 1)
      }
      waiting[place] = element
      place -= 1
    }
  }

  /// The oldest scan that nothing older can follow; nil while all wait.
  mutating func next() -> Element? {
    guard head < waiting.count else { return nil }
    let oldest = waiting[head]
    let time = oldest.scan.timestamp
    let front = max(gyroscope.newest ?? time, accelerometer.newest ?? time, magnetometer.newest ?? time)
    // A slow magnetometer that says each value at once would hold everything up, and the filter knows to take it late.
    guard !isAwaited(gyroscope, before: time, front: front),
      !isAwaited(accelerometer, before: time, front: front),
      !magnetometer.isBatched || !isAwaited(magnetometer, before: time, front: front)
    else { return nil }
    head += 1
    if head == waiting.count {
      waiting.removeAll(keepingCapacity: true)
      (head, blockStart) = (0, 0)
    } else if head >= Self.tidyCount {
      waiting.removeFirst(head)
      (head, blockStart) = (0, blockStart - head)
    }
    return oldest
  }

  /// Whether a sensor may still say something of a time up to `time`, and soon.
  private func isAwaited(_ sensor: BlockRhythm, before time: Timestamp, front: Timestamp) -> Bool {
    guard let newest = sensor.newest, newest < time else { return false }
    return front.seconds(since: newest) <= min(Self.patience * sensor.spacing, Self.longestWait)
  }
}

/// When a sensor speaks.
private struct BlockRhythm: Sendable {
  private(set) var newest: Timestamp?
  /// s between the ends of blocks, the longest of late.
  private(set) var spacing = 0.0
  /// Whether its blocks have more than one sample.
  private(set) var isBatched = false
  private var begin: Timestamp?
  private var count = 0
  private var endBefore: Timestamp?

  /// s, the least that is assumed before the second block.
  private static let firstSpacing = 0.02

  mutating func add(_ time: Timestamp) {
    if count == 0 { begin = time }
    count += 1
    newest = max(newest ?? time, time)
  }

  mutating func endBlock() {
    guard count > 0, let newest else { return }
    if let endBefore {
      spacing = max(newest.seconds(since: endBefore), 0.9 * spacing)
    } else if let begin {
      spacing = max(newest.seconds(since: begin), Self.firstSpacing)
    }
    endBefore = newest
    isBatched = count > 1
    count = 0
  }
}
