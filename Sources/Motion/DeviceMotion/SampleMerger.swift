internal import Spatial

/// Puts the samples of the inertial sensors in order of time, however their blocks arrive. Pure.
///
/// Each sensor hands over blocks of its own. A filter that is given the forces of a tenth of a second before the rotations
/// of that time, or after, is wrong by ten degrees in fast motion. So a sample waits until no other sensor can have an
/// older one: each has spoken of a later time, or has been silent for much longer than it takes between its blocks.
struct SampleMerger: Sendable {
  /// In the order in which samples of the same time are handed out.
  enum Sensor: Int, CaseIterable {
    case gyroscope
    case accelerometer
    case magnetometer
  }

  struct Sample {
    var sensor: Sensor
    var time: Timestamp
    /// Device frame, in the sensor's unit.
    var value: Vector3
  }

  /// Times between two blocks after which a sensor counts as silent, since some come late over a network.
  private static let patience = 3.0
  /// s; nothing waits longer, whatever the blocks were.
  private static let longestWait = 2.0

  private var lines = InlineArray<3, Line>(repeating: Line())

  /// Takes a block's next sample; times only grow.
  mutating func append(_ value: Vector3, of sensor: Sensor, at time: Timestamp) {
    lines[sensor.rawValue].append(value, at: time)
  }

  /// The block is complete.
  mutating func endBlock(of sensor: Sensor) { lines[sensor.rawValue].endBlock() }

  /// The oldest sample that nothing older can follow; nil while all wait.
  mutating func next() -> Sample? {
    var oldest: (sensor: Sensor, time: Timestamp)?
    var front: Timestamp?
    for sensor in Sensor.allCases {
      if let newest = lines[sensor.rawValue].newest { front = max(front ?? newest, newest) }
      guard let time = lines[sensor.rawValue].first?.time, oldest.map({ time < $0.time }) ?? true else {
        continue
      }
      oldest = (sensor, time)
    }
    guard let oldest, let front else { return nil }
    for sensor in Sensor.allCases where sensor != oldest.sensor {
      if isAwaited(sensor, before: oldest.time, front: front) { return nil }
    }
    guard let value = lines[oldest.sensor.rawValue].removeFirst() else { return nil }
    return Sample(sensor: oldest.sensor, time: oldest.time, value: value)
  }

  /// Whether a sensor may still say something of a time up to `time`, and soon.
  private func isAwaited(_ sensor: Sensor, before time: Timestamp, front: Timestamp) -> Bool {
    let line = lines[sensor.rawValue]
    guard line.first == nil, let newest = line.newest, newest < time else { return false }
    // A slow magnetometer that says each value at once would hold everything up, and the filter knows to take it late.
    if sensor == .magnetometer, !line.isBatched { return false }
    return front.seconds(since: newest) <= min(Self.patience * line.spacing, Self.longestWait)
  }
}

/// The samples of one sensor that wait.
private struct Line: Sendable {
  private var samples: [(time: Timestamp, value: Vector3)] = []
  /// Those before it have been handed out.
  private var head = 0
  private var countBefore = 0
  private var endBefore: Timestamp?
  private(set) var newest: Timestamp?
  /// s between the ends of blocks, the longest of late.
  private(set) var spacing = 0.0
  /// Whether its blocks have more than one sample.
  private(set) var isBatched = false

  /// s, the least that is assumed before the second block.
  private static let firstSpacing = 0.02
  /// Handed out ones are moved out of the way from here on, which costs little and keeps the array from growing.
  private static let tidyCount = 256

  var first: (time: Timestamp, value: Vector3)? { head < samples.count ? samples[head] : nil }

  mutating func append(_ value: Vector3, at time: Timestamp) {
    samples.append((time, value))
    countBefore += 1
    newest = time
  }

  mutating func endBlock() {
    guard countBefore > 0, let newest else { return }
    if let endBefore {
      spacing = max(newest.seconds(since: endBefore), 0.9 * spacing)
    } else if let begin = first?.time {
      spacing = max(newest.seconds(since: begin), Self.firstSpacing)
    }
    endBefore = newest
    isBatched = countBefore > 1
    countBefore = 0
  }

  mutating func removeFirst() -> Vector3? {
    guard let value = first?.value else { return nil }
    head += 1
    if head == samples.count {
      samples.removeAll(keepingCapacity: true)
      head = 0
    } else if head >= Self.tidyCount {
      samples.removeFirst(head)
      head = 0
    }
    return value
  }
}
