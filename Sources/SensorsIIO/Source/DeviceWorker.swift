internal import Glibc
internal import Platform
internal import Sensors
internal import Spatial

/// The thread of one device: waits for a demand, captures, and sleeps again. It exits when it is stopped or
/// when the device is lost.
final class DeviceWorker: Sendable {
  let assignment: IIOInventory.Assignment
  let triggers: [String]
  private let configuration: IIOConfiguration
  private let board: DemandBoard
  private let clocks: RemoteClocks
  private let emit: SensorSink
  /// Reports a state, with the time since which it applies in ns on the boot clock; nil for now.
  private let report: @Sendable (SourceStatus.State, Timestamp?) -> Void
  private let wake: EventDescriptor
  private let cancellation = BufferCancellation()
  private let progress = Locked(Progress())

  private struct Progress {
    var isStopping = false
    var hasEnded = false
    var failure: IIOError?
    var hasDelivered = false
  }

  init(
    _ assignment: IIOInventory.Assignment, triggers: [String], configuration: IIOConfiguration,
    board: DemandBoard, clocks: RemoteClocks,
    emit: @escaping SensorSink, report: @escaping @Sendable (SourceStatus.State, Timestamp?) -> Void
  ) throws(SystemError) {
    (self.assignment, self.triggers, self.configuration) = (assignment, triggers, configuration)
    (self.board, self.clocks, self.emit, self.report) = (board, clocks, emit, report)
    wake = try EventDescriptor()
  }

  /// True if the thread has released the device; `failure` is the reason, nil if it was stopped.
  var hasEnded: Bool { progress.withLock(\.hasEnded) }
  var failure: IIOError? { progress.withLock(\.failure) }
  /// True if the thread has delivered a sample since its start.
  var hasDelivered: Bool { progress.withLock(\.hasDelivered) }
  private var isStopping: Bool { progress.withLock(\.isStopping) }

  /// Requests the thread to power the device down and exit, between two blocks.
  func stop() {
    progress.withLock { $0.isStopping = true }
    wake.signal()
  }

  /// Aborts a read that waits for the network. The server notices the lost connection and frees the buffer.
  func interrupt() { cancellation.cancel() }

  /// Wakes the thread's loop.
  func call() { wake.signal() }

  /// Runs the thread.
  func run(_ heartbeat: Heartbeat) {
    board.addListener(wake)
    defer { board.removeListener(wake) }
    do throws(IIOError) {
      heartbeat.expectPause(seconds: 60)
      let context = try Context(uri: configuration.uri)
      try context.setTimeout(seconds: configuration.timeout)
      try context.withDevice(assignment.device.identifier) { device throws(IIOError) in
        guard device.name == assignment.device.name else {
          throw IIOError(operation: .find, object: device.object, errno: ENODEV)
        }
        try serve(device, in: context, heartbeat)
      }
    } catch {
      progress.withLock { $0.failure = $0.isStopping ? nil : error }
    }
    progress.withLock { $0.hasEnded = true }
  }

  private func serve(
    _ device: borrowing Device, in context: borrowing Context, _ heartbeat: Heartbeat
  ) throws(IIOError) {
    // The phase in which no whole block arrived within the time limit, so that its samples are fetched one by
    // one; nil if there is none.
    var sparse: DemandSchedule.Phase?
    while !isStopping {
      heartbeat.beat()
      let phase = currentPhase
      if phase.kinds.isEmpty {
        report(.idle, nil)
        wait(until: phase.until)
      } else {
        try capture(phase, device, in: context, sparse: &sparse, heartbeat)
      }
    }
  }

  private var currentPhase: DemandSchedule.Phase {
    var phase = board.phase(kinds: assignment.kinds, naturalHertz: configuration.naturalFrequency)
    phase.hertz = configuration.limited(phase.hertz)
    return phase
  }

  private func wait(until time: Timestamp?) {
    let seconds = time?.seconds(since: .now) ?? 3600
    if seconds > 0 { _ = wake.wait(seconds: seconds) }
  }

  /// Captures until the phase ends: from the buffer if possible, and by polling otherwise.
  private func capture(
    _ phase: DemandSchedule.Phase, _ device: borrowing Device, in context: borrowing Context,
    sparse: inout DemandSchedule.Phase?, _ heartbeat: Heartbeat
  ) throws(IIOError) {
    let sensors = assignment.device.sensors.filter { phase.kinds.contains($0.kind) }
    // A thermometer alone does not justify a stream at the rate of the chip.
    var buffered = sensors.filter(\.isBuffered)
    if buffered.allSatisfy({ $0.kind == .thermometer }) { buffered = [] }
    if !buffered.isEmpty {
      // The sensors are powered long before the first block is full, so the start of the capture is reported
      // as the time at which they became active.
      let opened = Timestamp.now
      do throws(IIOError) {
        let capture = try BufferedCapture(
          device, in: context, sensors: buffered, hertz: phase.hertz,
          latency: sparse == phase ? 0 : phase.latency, triggers: triggers, configuration: configuration,
          cancellation: cancellation, clocks: clocks)
        let rest = sensors.filter { sensor in !buffered.contains { $0.kind == sensor.kind } }
        return try run(capture, openedAt: opened, polling: rest, phase, device, heartbeat)
      } catch {
        if error.code == ETIMEDOUT, error.operation == .readBuffer, !context.isLocal {
          // The server waited for half the time limit, then dropped the buffer with its contents. A sensor
          // that reports only changes delivers nothing at rest. If the sensor's attributes can be read, it
          // works. From now on its samples are fetched one by one, so that no sample waits for a full block.
          _ = try device.scales(of: buffered[0])
          sparse = phase
          return
        }
        // If the buffer cannot be started, the sensors are polled through their attributes, unless the device
        // is lost.
        guard !error.isLoss, error.operation == .startBuffer else { throw error }
      }
    }
    try poll(sensors, phase, device, heartbeat)
  }

  private func run(
    _ capture: consuming BufferedCapture, openedAt opened: Timestamp, polling rest: [IIOInventory.Sensor],
    _ phase: DemandSchedule.Phase, _ device: borrowing Device, _ heartbeat: Heartbeat
  ) throws(IIOError) {
    var capture = capture
    var polled = try polledSensors(rest, phase, device)
    var block = ScanBlock()
    var rates = capture.rates
    if rates[.thermometer] != nil {
      rates[.thermometer] = min(configuration.temperatureFrequency, phase.hertz)
    }
    for sensor in polled { rates[sensor.sensor.kind] = 1 / sensor.interval }
    let timeout = max(configuration.timeout, 3 * phase.latency)
    var lastArrival = Timestamp.now
    var isSilent = true

    while !isStopping, isCurrent(phase) {
      heartbeat.beat()
      let now = Timestamp.now
      let next = polled.map(\.due).min()?.seconds(since: now) ?? timeout
      let limit = max(0, min(next, timeout, phase.until?.seconds(since: now) ?? timeout))
      let count = try capture.collect(from: device, into: &block, wake: wake, limit: limit)
      if count > 0 {
        lastArrival = .now
        if isSilent { report(.active(rates: rates), opened) }
        isSilent = false
        progress.withLock { $0.hasDelivered = true }
      } else if Timestamp.now.seconds(since: lastArrival) > timeout {
        // A sensor that reports only changes delivers nothing at rest. If its buffer is still enabled, it
        // counts as working.
        guard try device.file("buffer/enable") != "0" else {
          throw IIOError(
            operation: .readBuffer, object: device.object, code: ENODEV,
            reason: "another program disabled its buffer")
        }
        lastArrival = .now
        if isSilent { report(.active(rates: rates), opened) }
        isSilent = false
      }
      for index in polled.indices where polled[index].due <= .now {
        _ = try polled[index].read(from: device, into: &block)
      }
      block.flush(emit)
      wake.drain()
    }
  }

  private func poll(
    _ sensors: [IIOInventory.Sensor], _ phase: DemandSchedule.Phase, _ device: borrowing Device,
    _ heartbeat: Heartbeat
  ) throws(IIOError) {
    _ = try device.setFrequency(phase.hertz, of: sensors.filter { $0.kind != .thermometer })
    var polled = try polledSensors(sensors, phase, device)
    var block = ScanBlock()
    var refusals = 0
    while !isStopping, isCurrent(phase) {
      heartbeat.beat()
      for index in polled.indices where polled[index].due <= .now {
        if try polled[index].read(from: device, into: &block) {
          refusals = 0
          progress.withLock { $0.hasDelivered = true }
          let rates = polled.map { ($0.sensor.kind, 1 / $0.interval) }
          report(.active(rates: Dictionary(uniqueKeysWithValues: rates)), nil)
        } else {
          refusals += 1
          guard refusals < 10 else {
            throw IIOError(operation: .poll, object: device.object, errno: EBUSY)
          }
        }
      }
      let now = Timestamp.now
      if let oldest = block.oldest, now.seconds(since: oldest) >= phase.latency {
        block.flush(emit)
      }
      let flush = block.oldest?.advanced(bySeconds: phase.latency)
      wait(until: [polled.map(\.due).min(), flush, phase.until].compactMap { $0 }.min())
    }
    block.flush(emit)
  }

  private func polledSensors(
    _ sensors: [IIOInventory.Sensor], _ phase: DemandSchedule.Phase, _ device: borrowing Device
  ) throws(IIOError) -> [PolledSensor] {
    let now = Timestamp.now
    var polled: [PolledSensor] = []
    for sensor in sensors {
      let limit =
        sensor.kind == .thermometer ? configuration.temperatureFrequency : configuration.pollFrequency
      let hertz = max(min(phase.hertz, limit), 1e-3)
      polled.append(try PolledSensor(sensor, of: device, interval: 1 / hertz, from: now))
    }
    return polled
  }

  /// Returns whether the phase still corresponds to the demands.
  private func isCurrent(_ phase: DemandSchedule.Phase) -> Bool {
    var now = currentPhase
    now.until = phase.until
    guard now == phase else { return false }
    return phase.until.map { .now < $0 } ?? true
  }
}

/// A sensor without a buffer, read through its attributes value by value.
struct PolledSensor {
  let sensor: IIOInventory.Sensor
  /// The interval between readings in s.
  let interval: Double
  private let scales: [LinearScale]
  /// The time of the next reading.
  private(set) var due: Timestamp

  init(_ sensor: IIOInventory.Sensor, of device: borrowing Device, interval: Double, from now: Timestamp)
    throws(IIOError)
  {
    self.sensor = sensor
    self.interval = interval
    scales = try device.scales(of: sensor)
    due = now
  }

  /// Reads the sensor; the time stamp is the middle of the reading.
  ///
  /// - Returns: false if the driver rejects the reading temporarily, as some do while their buffer runs.
  mutating func read(from device: borrowing Device, into block: inout ScanBlock) throws(IIOError) -> Bool {
    let start = Timestamp.now
    // Missed readings are skipped.
    due = max(due.advanced(bySeconds: interval), start)
    var value = Vector3.zero
    do throws(IIOError) {
      for (axis, identifier) in sensor.channels.prefix(3).enumerated() {
        let scale = scales[axis]
        value[axis] = try device.withChannel(identifier) { channel throws(IIOError) in
          if let raw = try channel.number("raw") { return scale(raw) }
          if let finished = try channel.number("input") { return finished * sensor.kind.unitFactor }
          throw IIOError(
            operation: .read, object: "\(device.object) \(identifier)", code: ENODEV,
            reason: "it has neither a buffer nor a raw nor an input attribute")
        }
      }
    } catch {
      guard error.code == EBUSY || error.code == EAGAIN else { throw error }
      return false
    }
    let end = Timestamp.now
    block.begin(at: start.advanced(bySeconds: end.seconds(since: start) / 2))
    block.add(sensor.kind, value, mounted: sensor.mountMatrix)
    return true
  }
}
