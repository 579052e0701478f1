internal import Sensors
internal import Spatial

/// Orders the scans of several devices by time, independent of block sizes.
///
/// Each device delivers its own blocks. If a filter receives the forces of 0.1 s before or after the
/// rotations of the same time, the error in fast motion is ten degrees. A scan therefore waits until no other
/// sensor can deliver an older sample. Another sensor cannot if it has delivered a sample of the same or a
/// later time, or has been silent for much longer than the time between its blocks. A sensor that its source
/// reports as active is awaited for two seconds, also before its first sample. The order therefore does not
/// depend on the size of the first blocks.
struct ScanMerger: Sendable {
  struct Element: Sendable {
    var scan: InertialScan
    var doubts: ScanDoubts

    /// Adds the samples of another device with the same time to this scan. Returns false if the times differ
    /// or both scans contain the same sensor.
    fileprivate mutating func join(_ other: Element) -> Bool {
      let added = other.scan
      guard added.timestamp == scan.timestamp,
        !Self.sensors.contains(where: { scan.contains($0) && added.contains($0) })
      else { return false }
      scan.specificForce = scan.specificForce ?? added.specificForce
      scan.rotationRate = scan.rotationRate ?? added.rotationRate
      scan.magneticField = scan.magneticField ?? added.magneticField
      scan.temperature = scan.temperature ?? added.temperature
      doubts.formUnion(other.doubts)
      return true
    }

    private static let sensors = [SensorKind.accelerometer, .gyroscope, .magnetometer]

    /// Returns whether a scan is ordered before another: by time, then rotations before forces before fields.
    func precedes(_ other: Element) -> Bool {
      scan.timestamp != other.scan.timestamp ? scan.timestamp < other.scan.timestamp : rank < other.rank
    }

    private var rank: Int { scan.rotationRate != nil ? 0 : scan.specificForce != nil ? 1 : 2 }
  }

  /// Multiple of the time between blocks after which a sensor counts as silent. Network devices deliver some
  /// blocks late.
  private static let silenceFactor = 3.0
  /// Maximum waiting time in s, regardless of the blocks.
  private static let longestWait = 2.0
  /// Number of returned scans after which the array is compacted.
  private static let tidyCount = 256

  private var gyroscope = BlockRhythm()
  private var accelerometer = BlockRhythm()
  private var magnetometer = BlockRhythm()
  /// Time of the first scan.
  private var start: Timestamp?
  /// Scans in order from `head` to the block being added. Those before `head` have been returned.
  private var waiting: [Element] = []
  private var head = 0
  private var blockStart = 0
  private var scratch: [Element] = []

  /// Awaits the sensors that sources report as active.
  mutating func expect(_ kinds: Set<SensorKind>) {
    gyroscope.isExpected = kinds.contains(.gyroscope)
    accelerometer.isExpected = kinds.contains(.accelerometer)
    magnetometer.isExpected = kinds.contains(.magnetometer)
  }

  /// Appends the next scan of a block.
  mutating func append(_ scan: InertialScan, _ doubts: ScanDoubts) {
    start = start ?? scan.timestamp
    if scan.rotationRate != nil { gyroscope.add(scan.timestamp) }
    if scan.specificForce != nil { accelerometer.add(scan.timestamp) }
    if scan.magneticField != nil { magnetometer.add(scan.timestamp) }
    waiting.append(Element(scan: scan, doubts: doubts))
  }

  /// Ends a block and merges its scans with those waiting.
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

  /// Merges the ordered block with the waiting scans, from the back.
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

  /// Removes the oldest scan and the following scans with the same time, and returns them as one scan. Nil if
  /// a sensor may still deliver an older sample.
  mutating func nextJoined() -> Element? {
    guard var joined = next() else { return nil }
    while head < waiting.count, joined.join(waiting[head]) { removeHead() }
    return joined
  }

  /// The scans not yet returned, in order of time.
  var waitingScans: [InertialScan] { waiting[head...].map(\.scan) }

  /// Removes and returns the oldest scan, even if a sensor may still deliver an older sample; nil if no scan
  /// waits.
  mutating func flushNext() -> Element? {
    guard head < waiting.count else { return nil }
    let oldest = waiting[head]
    removeHead()
    return oldest
  }

  /// Removes and returns the oldest scan; nil if a sensor may still deliver an older sample, or if no scan
  /// waits.
  mutating func next() -> Element? {
    guard head < waiting.count else { return nil }
    let oldest = waiting[head]
    let time = oldest.scan.timestamp
    let front = max(gyroscope.newest ?? time, accelerometer.newest ?? time, magnetometer.newest ?? time)
    guard !isAwaited(gyroscope, before: time, front: front),
      !isAwaited(accelerometer, before: time, front: front),
      !isAwaited(magnetometer, before: time, front: front)
    else { return nil }
    removeHead()
    return oldest
  }

  private mutating func removeHead() {
    head += 1
    if head == waiting.count {
      waiting.removeAll(keepingCapacity: true)
      (head, blockStart) = (0, 0)
    } else if head >= Self.tidyCount {
      waiting.removeFirst(head)
      (head, blockStart) = (0, blockStart - head)
    }
  }

  /// Returns whether a sensor may soon deliver a sample older than `time`.
  private func isAwaited(_ sensor: BlockRhythm, before time: Timestamp, front: Timestamp) -> Bool {
    guard let newest = sensor.newest ?? (sensor.isExpected ? start : nil),
      newest < time || sensor.newest == nil
    else { return false }
    let timeout = sensor.isExpected ? Self.longestWait : Self.silenceFactor * sensor.spacing
    return front.seconds(since: newest) <= min(timeout, Self.longestWait)
  }
}

/// Timing of one sensor's blocks.
private struct BlockRhythm: Sendable {
  /// True if a source reports the sensor as active.
  var isExpected = false
  private(set) var newest: Timestamp?
  /// Longest recent time in s between the ends of blocks.
  private(set) var spacing = 0.0
  private var begin: Timestamp?
  private var count = 0
  private var endBefore: Timestamp?

  /// Minimum spacing in s that is assumed before the second block.
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
    count = 0
  }
}
