internal import Sensors
internal import Spatial

/// The sample times of a sensor, and their division into blocks.
///
/// Samples are on a fixed grid of the sensor's highest rate. A lower demand uses every n-th grid point, so
/// that a change of demand never shifts a sample.
struct SamplingChannel: Sendable {
  /// The samples in the next event.
  struct Block {
    /// Time of the first sample in ns since the start.
    var first: Int64
    var interval: Int64
    var count: Int
    /// True if the sensor slept until the first sample of the block.
    var wakes: Bool

    var end: Int64 { first + Int64(count - 1) * interval }

    /// The times of the block's samples in ns since the start.
    var times: [Int64] { (0..<Int64(count)).map { first + $0 * interval } }

    /// Returns whether both blocks have the same sample times.
    func coincides(with other: Block) -> Bool {
      first == other.first && interval == other.interval && count == other.count
    }
  }

  private struct DutyCycle: Sendable {
    var on: Int64
    var period: Int64
    /// Start of the first on-time in ns since the start of the simulation.
    var since: Int64
  }

  let kind: SensorKind
  /// The highest rate in Hz.
  let highestRate: Double
  private let gridInterval: Int64
  private let lastTime: Int64
  private let usualLatency: Int64

  private(set) var demand: SensorDemand
  private var stride: Int64 = 1
  private var latency: Int64
  private var dutyCycle: DutyCycle?
  private var nextIndex: Int64 = 0
  private var isAwake = false
  /// Time in ns since the start that earlier events have reached. The next block must not end before it.
  private var now: Int64 = 0
  /// The next block; nil if the sensor is asleep or the recording is over.
  private(set) var nextBlock: Block?

  /// The maximum number of samples in a block, as in a chip's buffer.
  private static let deepestBuffer = 1024

  /// Creates a channel.
  ///
  /// - Parameters:
  ///   - rate: the highest rate in Hz.
  ///   - blockDuration: duration of a block in ns until `setDemand` sets another latency.
  ///   - lastTime: time of the last possible sample in ns since the start.
  init(kind: SensorKind, rate: Double, blockDuration: Int64, lastTime: Int64) {
    self.kind = kind
    highestRate = rate
    gridInterval = max(1, Int64((1e9 / rate).rounded()))
    usualLatency = blockDuration
    latency = blockDuration
    self.lastTime = lastTime
    demand = .rate(hertz: rate, latency: .nanoseconds(blockDuration))
    plan()
  }

  /// Samples per second while awake; nil without a demand.
  var rate: Double? { demand.isOn ? highestRate / Double(stride) : nil }

  /// Sets the demand for samples after the time of the last event.
  ///
  /// If the rate is unchanged or rises, no sample is lost. If it falls or the sensor is switched off, samples
  /// that were not delivered yet are dropped.
  /// - Parameter now: time of the last event in ns since the start; -1 before the first event.
  mutating func setDemand(_ demand: SensorDemand, now: Int64) {
    guard demand != self.demand else { return }
    let (wasContinuous, strideBefore) = (self.demand.isOn && dutyCycle == nil, stride)
    self.demand = demand
    self.now = now
    (dutyCycle, stride, latency) = (nil, 1, usualLatency)
    switch demand {
    case .off:
      break
    case .dutyCycle(let on, let period):
      let (on, period) = (max(1, on.clampedNanoseconds), period.clampedNanoseconds)
      if on < period { dutyCycle = DutyCycle(on: on, period: period, since: max(0, now)) }
    case .rate(let hertz, let latency):
      // Chooses the lowest rate that divides the highest rate and is at least the requested one.
      let slowest = Double(Duration.seconds(31_536_000).clampedNanoseconds / gridInterval)
      let ratio = hertz > 0 ? min(slowest, highestRate / hertz * (1 + 1e-9)) : slowest
      stride = max(1, Int64(ratio.rounded(.down)))
      self.latency = max(0, latency.clampedNanoseconds)
    }
    if !demand.isOn { isAwake = false }
    let continues = wasContinuous && dutyCycle == nil && stride <= strideBefore
    if !continues { nextIndex = max(nextIndex, (now + gridInterval) / gridInterval) }
    plan()
  }

  /// Advances to the next block.
  mutating func advance() {
    guard let block = nextBlock else { return }
    nextIndex = block.end / gridInterval + stride
    now = block.end
    isAwake = true
    plan()
  }

  private mutating func plan() {
    nextBlock = nil
    guard demand.isOn else { return }
    var first = nextIndex.quotientRoundedUp(by: stride) * stride * gridInterval
    var last = Int64.max
    var wakes = !isAwake
    if let dutyCycle {
      let phase = (first - dutyCycle.since) % dutyCycle.period
      if phase >= dutyCycle.on {
        first = (first - phase + dutyCycle.period).quotientRoundedUp(by: gridInterval) * gridInterval
      }
      let since = dutyCycle.since
      if (first - since) / dutyCycle.period > max(0, now - since) / dutyCycle.period { wakes = true }
      // Even an on-time shorter than the grid yields a sample.
      last = max(first, first - (first - since) % dutyCycle.period + dutyCycle.on - 1)
    }
    guard first <= lastTime else { return }
    let interval = stride * gridInterval
    var count = min(Int64(Self.deepestBuffer), max(1, latency / interval))
    // After a change to smaller blocks, the first block may start before `now`. It is extended to end at
    // `now` or later, so that no sample is lost.
    if now > first { count = max(count, (now - first).quotientRoundedUp(by: interval) + 1) }
    count = min(count, (min(last, lastTime) - first) / interval + 1)
    let block = Block(first: first, interval: interval, count: Int(count), wakes: wakes)
    // Near the end of the recording a block may end before `now`. Its samples can no longer be delivered in
    // order of time and are dropped.
    if block.end >= now { nextBlock = block }
  }
}

extension Int64 {
  fileprivate func quotientRoundedUp(by step: Int64) -> Int64 {
    self / step + (self % step > 0 ? 1 : 0)
  }
}

extension Duration {
  /// Whole nanoseconds, clamped to ±10 years.
  var clampedNanoseconds: Int64 {
    let limit: Int64 = 315_360_000
    let (seconds, attoseconds) = components
    if seconds >= limit { return limit * 1_000_000_000 }
    if seconds <= -limit { return -limit * 1_000_000_000 }
    return seconds * 1_000_000_000 + attoseconds / 1_000_000_000
  }
}
