internal import Glibc
internal import Platform
internal import Sensors
package import Spatial

/// A running capture: the buffer, the decoder of its scans, and the clock of its time stamps.
package struct BufferedCapture: ~Copyable {
  /// The sizes of the buffer in scans.
  package struct Plan: Hashable, Sendable {
    /// The number of scans after which the reader wakes: one block. libiio sets it as the kernel's watermark.
    package var watermark: Int
    /// The number of blocks that the kernel buffers for a late reader.
    package var blocks: Int

    /// Computes the sizes.
    ///
    /// - Parameter isPolled: true if a descriptor signals the watermark. Otherwise (network, USB) a read
    ///   waits for a whole block, and a block lasts at most a quarter of the time limit. The server waits for
    ///   half of the time limit, and then discards what it has read.
    package init(hertz: Double, latency: Double, isPolled: Bool, configuration: IIOConfiguration) {
      let longest = isPolled ? max(latency, 2) : configuration.timeout / 4
      let wanted = configuration.watermark ?? Int(min(hertz * min(latency, longest), 65_536))
      watermark = max(1, min(wanted, max(1, Int(min(hertz * longest, 65_536)))))
      let depth = configuration.bufferLength ?? Int(min(hertz * 2, 65_536))
      blocks = max(4, min(depth / watermark, 200))
    }
  }

  let rates: [SensorKind: Double]
  let trigger: CaptureTrigger
  private let buffer: Buffer
  private let object: String
  private let scanChannels: [String]
  private var decoder: ScanDecoder
  private var clock: HardwareClock
  private var paced: PacedClock
  private var stamps = StampCheck()
  private var temperatureLimit: RateLimit
  private let isLocal: Bool
  private let period: Int64
  private let pollDescriptor: Int32?
  /// The duration of a block in ns if the reader can sleep by the clock; nil if it must poll.
  private var blockDuration: Int64?
  private var lastRead: Timestamp
  /// The maximum number of scans of one read.
  private let capacity: Int
  /// True if the last read left no whole block in the kernel's buffer.
  private var isDrained = true

  /// Configures the device and starts its buffer.
  ///
  /// - Parameter trigger: the assigned trigger; a timer runs at `hertz`.
  init(
    _ device: borrowing Device, in context: borrowing Context, sensors: [IIOInventory.Sensor], hertz: Double,
    latency: Double, trigger: CaptureTrigger, configuration: IIOConfiguration,
    cancellation: BufferCancellation, clocks: RemoteClocks
  ) throws(IIOError) {
    var rates = try device.setFrequency(hertz, of: sensors)
    if case .timer = trigger { rates = rates.mapValues { _ in hertz } }
    let clockName = try device.chooseTimestampClock()

    let rate = max(rates.values.max() ?? hertz, 0.001)
    let plan = Plan(hertz: rate, latency: latency, isPolled: context.isLocal, configuration: configuration)
    let (decoder, scanChannels) = try Self.enable(sensors, of: device)
    try device.setKernelBufferCount(plan.blocks)
    let buffer = try Buffer(on: device, samples: plan.watermark, cancellation: cancellation)
    let descriptor = context.isLocal ? buffer.pollDescriptor : nil
    if descriptor != nil { try buffer.setBlocking(false) }

    // Without time stamps, the reader must observe the arrival of samples. `isStamped` is computed before
    // `self` is accessed: an `&&` that reads a property of `self` makes Swift 6.3 destroy the buffer before
    // it exists.
    let isStamped = clockName == "boottime" || clockName == "monotonic"
    var blockDuration: Int64?
    if descriptor != nil, isStamped, plan.watermark >= Self.shortestTimedBlock {
      blockDuration = Int64(Double(plan.watermark) * 1e9 / rate)
    }

    (self.rates, self.trigger) = (rates, trigger)
    (self.decoder, self.scanChannels) = (decoder, scanChannels)
    pollDescriptor = descriptor
    object = device.object
    period = Int64(1e9 / rate)
    paced = PacedClock(period: period)
    temperatureLimit = RateLimit(interval: 1 / max(configuration.temperatureFrequency, 1e-6))
    isLocal = context.isLocal
    if context.isLocal, isStamped {
      clock = HardwareClock(
        setTo: clockName == "monotonic" ? .monotonic : .boottime,
        otherwise: clocks.clock(of: device.name, setTo: clockName, isOwn: true),
        latency: max(latency, Double(plan.watermark) / rate))
    } else {
      clock = HardwareClock(following: clocks.clock(of: device.name, setTo: clockName))
    }
    self.blockDuration = blockDuration
    lastRead = .now
    capacity = plan.watermark
    self.buffer = buffer
  }

  /// The minimum number of scans in a block for which sleeping by the clock is better than a wake-up per
  /// scan.
  private static let shortestTimedBlock = 4

  /// Enables exactly the channels of the sensors and the time stamp.
  private static func enable(
    _ sensors: [IIOInventory.Sensor], of device: borrowing Device
  ) throws(IIOError) -> (ScanDecoder, [String]) {
    for index in 0..<device.channelCount {
      try device.withChannel(at: index) { channel throws(IIOError) in channel.setEnabled(false) }
    }
    var elements: [(index: Int, format: ScanFormat)] = []
    var names: [String] = []
    func add(_ identifier: String) throws(IIOError) {
      let element = try device.withChannel(identifier) { channel throws(IIOError) in
        channel.setEnabled(true)
        return (index: channel.scanIndex, format: try channel.scanFormat())
      }
      elements.append(element)
      names.append(identifier)
    }
    var parts: [ScanDecoder.Part] = []
    for sensor in sensors {
      let start = elements.count
      for identifier in sensor.channels { try add(identifier) }
      parts.append(
        ScanDecoder.Part(
          kind: sensor.kind, formats: elements[start...].map(\.format), scales: try device.scales(of: sensor),
          mounting: sensor.mountMatrix, positions: start..<elements.count))
    }
    var timestampFormat: ScanFormat?
    if device.hasChannel("timestamp"),
      try device.withChannel("timestamp", { channel throws(IIOError) in channel.isScanElement })
    {
      try add("timestamp")
      timestampFormat = elements.last?.format
    }
    let decoder = ScanDecoder(
      parts: parts, timestampFormat: timestampFormat, layout: ScanLayout(elements: elements))
    return (decoder, names)
  }

  /// Waits for scans and decodes them.
  ///
  /// - Parameters:
  ///   - wake: ends the wait when signalled. Over the network the wait lasts until the block is complete, and
  ///     only `BufferCancellation` ends it sooner.
  ///   - limit: the maximum wait in seconds.
  /// - Returns: the number of scans.
  mutating func collect(
    from device: borrowing Device, into block: inout ScanBlock, wake: EventDescriptor, limit: Double
  ) throws(IIOError) -> Int {
    if let blockDuration, isDrained {
      // The kernel wakes a polling reader for every sample to check the watermark (`iio_push_to_buffer`).
      // Sleeping until the block must be full wakes the processor once.
      let left = Self.wakeup(after: lastRead, every: blockDuration).seconds(since: .now)
      if left > 0, wake.wait(seconds: min(left, limit)) || limit < left { return 0 }
      // Reads the available scans, even if the block is not quite complete. A chip that is faster than its nominal
      // rate, or a late wake-up, leaves more of them than one read returns: they are read without a wait.
      lastRead = .now
    } else if blockDuration == nil, let pollDescriptor {
      var entries = [
        pollfd(fd: pollDescriptor, events: Int16(POLLIN), revents: 0),
        pollfd(fd: wake.descriptor, events: Int16(POLLIN), revents: 0),
      ]
      let milliseconds = Int32(max(0, min(limit * 1000, 3_600_000)).rounded(.up))
      let ready = unsafe poll(&entries, 2, milliseconds)
      guard ready > 0 else { return 0 }
      if entries[0].revents & Int16(POLLIN) == 0 {
        guard entries[0].revents & Int16(POLLERR | POLLHUP | POLLNVAL) == 0 else {
          throw IIOError(operation: .readBuffer, object: object, errno: ENODEV)
        }
        return 0
      }
    }
    guard case .filled(let byteCount) = try buffer.refill() else {
      isDrained = true
      return 0
    }
    let arrival = Timestamp.now
    if buffer.stride != decoder.layout.stride { try adopt(strideOf: device) }
    let count = decoder.count(in: byteCount)
    isDrained = count < capacity
    guard count > 0 else { return 0 }
    decode(count: count, arrival: arrival, into: &block)
    return count
  }

  /// Returns the time of the next read. It is a multiple of the block's duration, so
  /// that the threads of devices with equal blocks wake together.
  package static func wakeup(after lastRead: Timestamp, every blockDuration: Int64) -> Timestamp {
    let next = (lastRead.nanoseconds / blockDuration + 1) * blockDuration
    let isSoon = next - lastRead.nanoseconds < blockDuration / 2
    return Timestamp(nanoseconds: isSoon ? next + blockDuration : next)
  }

  /// Adopts the channel offsets that libiio reports. They differ from the computed ones if another client of
  /// the same server captures more channels.
  private mutating func adopt(strideOf device: borrowing Device) throws(IIOError) {
    var offsets: [Int] = []
    for identifier in scanChannels {
      offsets.append(
        try device.withChannel(identifier) { channel throws(IIOError) in buffer.offset(of: channel) })
    }
    decoder.layout = ScanLayout(offsets: offsets, stride: buffer.stride)
  }

  private mutating func decode(count: Int, arrival: Timestamp, into block: inout ScanBlock) {
    let suspended = isLocal ? Timestamp.now.nanoseconds - MonotonicTime.now.nanoseconds : 0
    var (clock, paced, stamps, temperatureLimit) = (clock, paced, stamps, temperatureLimit)
    let (period, decoder) = (period, decoder)
    buffer.withBytes { bytes in
      // A broken connection leaves fewer scans than announced.
      let count = min(count, decoder.count(in: bytes.count))
      guard count > 0 else { return }
      var invented: [Timestamp] = []
      if let newest = decoder.stamp(in: bytes, scan: count - 1), stamps.areValid(newest: newest) {
        clock.observe(newest: newest, arrival: arrival, period: period, suspended: suspended)
      } else {
        invented = paced.timestamps(count: count, arrival: arrival)
      }
      for scan in 0..<count {
        let time =
          invented.isEmpty
          ? clock.timestamp(decoder.stamp(in: bytes, scan: scan) ?? arrival.nanoseconds) : invented[scan]
        block.begin(at: time)
        for part in decoder.parts {
          if part.kind == .thermometer, !temperatureLimit.passes(time) { continue }
          block.add(part.kind, decoder.value(of: part, in: bytes, scan: scan), mounted: part.mounting)
        }
      }
    }
    (self.clock, self.paced, self.stamps, self.temperatureLimit) = (clock, paced, stamps, temperatureLimit)
    // Without time stamps, the arrival of samples must be observed.
    if stamps.haveFailed { blockDuration = nil }
  }
}

/// A check whether time stamps advance. A driver that stamps in an interrupt handler leaves every stamp at 0, or
/// at the last interrupt, if a timer triggers the capture instead.
package struct StampCheck: Hashable, Sendable {
  /// True if the stamps of two blocks were equal: no more are used in the rest of the capture.
  package private(set) var haveFailed = false
  private var last: Int64?

  package init() {}

  /// Returns whether the stamps of a block may be used.
  ///
  /// - Parameter newest: the stamp of the block's last sample, ns.
  package mutating func areValid(newest: Int64) -> Bool {
    if newest == last { haveFailed = true }
    last = newest
    return !haveFailed && newest != 0
  }
}
