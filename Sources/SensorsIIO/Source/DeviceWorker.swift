internal import Glibc
internal import Platform
internal import Sensors
internal import Spatial

/// The thread of one device: waits for a demand, captures, and sleeps again. It exits when it is stopped or
/// when the device is lost.
final class DeviceWorker: Sendable {
  let assignment: IIOInventory.Assignment
  private let configuration: IIOConfiguration
  private let board: DemandBoard
  private let shared: SharedHardware
  private let emit: SensorSink
  private let report: Report
  private let wake: EventDescriptor
  private let cancellation = BufferCancellation()
  private let progress = Locked(Progress())

  private struct Progress {
    var isStopping = false
    var hasEnded = false
    var failure: IIOError?
    var hasDelivered = false
  }

  /// Reports a state.
  ///
  /// - Parameters:
  ///   - since: the time since which the state applies; nil for now.
  ///   - restriction: the reason why an active device delivers less than it could; nil if it does not.
  typealias Report =
    @Sendable (
      _ state: SourceStatus.State, _ since: Timestamp?, _ restriction: IIOError?
    ) -> Void

  /// State that the devices of one context share.
  struct SharedHardware: Sendable {
    /// One set of clocks for all devices, because the same machine stamps them.
    let clocks = RemoteClocks()
    let timers = TimerDemands()
    let restrictions = DeviceRestrictions()
  }

  init(
    _ assignment: IIOInventory.Assignment, configuration: IIOConfiguration,
    board: DemandBoard, shared: SharedHardware, emit: @escaping SensorSink, report: @escaping Report
  ) throws(SystemError) {
    (self.assignment, self.configuration) = (assignment, configuration)
    (self.board, self.shared, self.emit, self.report) = (board, shared, emit, report)
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
      var attempts = BufferAttempts()
      while !isStopping {
        heartbeat.expectPause(seconds: 60)
        let context = try Context(uri: configuration.uri)
        try context.setTimeout(seconds: configuration.timeout)
        try context.withDevice(assignment.device.identifier) { device throws(IIOError) in
          guard device.name == assignment.device.name else {
            throw IIOError(operation: .find, object: device.object, errno: ENODEV)
          }
          try serve(device, in: context, &attempts, heartbeat)
        }
      }
    } catch {
      progress.withLock { $0.failure = $0.isStopping ? nil : error }
    }
    releaseTimer()
    progress.withLock { $0.hasEnded = true }
  }

  /// Serves the demands until the thread is stopped, or until an attempt to use the buffer again is due. The
  /// attempt requires a new context, because triggers that were created later are missing in the present one.
  private func serve(
    _ device: borrowing Device, in context: borrowing Context, _ attempts: inout BufferAttempts,
    _ heartbeat: Heartbeat
  ) throws(IIOError) {
    var isFresh = true
    while !isStopping {
      heartbeat.beat()
      let phase = currentPhase
      if phase.kinds.isEmpty {
        releaseTimer()
        report(.idle, nil, nil)
        wait(until: phase.until)
      } else {
        if !isFresh, attempts.failure != nil, attempts.isDue { return }
        isFresh = false
        try capture(phase, device, in: context, &attempts, heartbeat)
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
    _ attempts: inout BufferAttempts, _ heartbeat: Heartbeat
  ) throws(IIOError) {
    let sensors = assignment.device.sensors.filter { phase.kinds.contains($0.kind) }
    reportPolling(of: sensors.filter { !$0.isBuffered }, device)
    var buffered = sensors.filter(\.isBuffered)
    // A thermometer alone does not justify a stream at the rate of the chip.
    if buffered.allSatisfy({ $0.kind == .thermometer }) { buffered = [] }
    if !buffered.isEmpty, attempts.isDue {
      // The sensors are powered long before the first block is full, so the start of the capture is reported
      // as the time at which they became active.
      let opened = Timestamp.now
      var trigger: String?
      do throws(IIOError) {
        if let capture = try open(buffered, phase, device, in: context, attempts) {
          trigger = capture.trigger.name
          let rest = sensors.filter { sensor in !buffered.contains { $0.kind == sensor.kind } }
          let isOver = try run(
            capture, openedAt: opened, polling: rest, phase, device, &attempts, heartbeat)
          if isOver { return }
          return try examine(buffered, trigger, device, &attempts, heartbeat)
        }
        // A slow demand does not use a timer that another device runs at its own rate. This is no failure.
        attempts.succeed()
      } catch {
        if error.code == ETIMEDOUT, error.operation == .readBuffer, !context.isLocal {
          // The server waited for half the time limit, then dropped the buffer with its contents. A sensor
          // that reports only changes delivers nothing at rest. If the sensor's attributes can be read, it
          // works. From now on its samples are fetched one by one, so that no sample waits for a full block.
          _ = try device.scales(of: buffered[0])
          // A sample of any other sensor arrives while the server waits, unless the demand is slow.
          let isRegular =
            !HIDSensor.isName(device.name) && 3 / max(phase.hertz, 1e-3) < configuration.timeout / 2
          if attempts.sparse == phase {
            if isRegular, hasDelivered { stall(device, &attempts) }
            let isDue =
              attempts.isQuiet
              ? isRegular && attempts.startExamination(timeout: configuration.timeout)
              : isRegular || !hasDelivered
            if isDue { try examine(buffered, trigger, device, &attempts, heartbeat) }
          }
          attempts.sparse = phase
          return
        }
        // If the buffer cannot be started, the sensors are polled through their attributes, unless the device
        // is lost or cannot be polled.
        guard !error.isLoss, error.isOfStart, device.canPoll(sensors) else { throw error }
        attempts.fail(error)
      }
    }
    releaseTimer()
    try poll(sensors, phase, device, attempts, heartbeat)
  }

  /// Configures the device and starts its buffer. Returns nil if polling is better, because another device
  /// runs the only timer, and the demand is slow.
  private func open(
    _ sensors: [IIOInventory.Sensor], _ phase: DemandSchedule.Phase, _ device: borrowing Device,
    in context: borrowing Context, _ attempts: BufferAttempts
  ) throws(IIOError) -> BufferedCapture? {
    if context.isLocal { try device.endAbandonedCapture() }
    let trigger = try device.assignTrigger(in: context, configuration: configuration)
    var hertz = phase.hertz
    if case .timer(let timer) = trigger {
      if hertz <= configuration.pollFrequency,
        shared.timers.isUsed(timer, besides: device.identifier), device.canPoll(sensors)
      {
        return nil
      }
      let demand = shared.timers.set(hertz, from: device.identifier, on: timer)
      hertz = demand.hertz
      try context.setTimer(timer, hertz: hertz)
      if demand.isNew { board.notify() }
    }
    try setRange(of: sensors, device)
    do throws(IIOError) {
      return try BufferedCapture(
        device, in: context, sensors: sensors, hertz: hertz,
        latency: attempts.sparse == phase ? 0 : phase.latency, trigger: trigger,
        configuration: configuration, cancellation: cancellation, clocks: shared.clocks)
    } catch {
      guard trigger == .missing, error.operation == .startBuffer, error.code == EINVAL else { throw error }
      throw IIOError(lackingTrigger: device.object)
    }
  }

  /// Sets the range of the accelerometer, before its scale is read.
  private func setRange(
    of sensors: [IIOInventory.Sensor], _ device: borrowing Device
  ) throws(IIOError) {
    guard let demand = configuration.accelerometerRange,
      let sensor = sensors.first(where: { $0.kind == .accelerometer })
    else { return }
    let outcome = try device.setRange(of: sensor, to: demand)
    shared.restrictions.update(device.identifier) {
      ($0.range, $0.rangeProblem) = (outcome.range, outcome.problem)
    }
  }

  /// Records whether a sensor without a buffer is polled below the rate that is demanded of it.
  private func reportPolling(of sensors: [IIOInventory.Sensor], _ device: borrowing Device) {
    let slow = sensors.filter { sensor in
      guard sensor.kind != .thermometer else { return false }
      let phase = board.phase(kinds: [sensor.kind], naturalHertz: configuration.naturalFrequency)
      return configuration.limited(phase.hertz) > configuration.pollFrequency
    }
    let problem =
      slow.isEmpty ? nil : IIOError(lackingBuffer: slow.map(\.kind), of: device.object, configuration)
    shared.restrictions.update(device.identifier) { $0.pollingProblem = problem }
  }

  /// Withdraws the demand on a timer.
  private func releaseTimer() {
    if shared.timers.release(assignment.device.identifier) { board.notify() }
  }

  /// Returns whether a timer runs at the rate for which a capture was configured.
  private func isCurrent(_ trigger: CaptureTrigger, at rates: [SensorKind: Double]) -> Bool {
    guard case .timer(let timer) = trigger, let hertz = shared.timers.rate(of: timer) else { return true }
    return rates.values.allSatisfy { $0 == hertz }
  }

  /// Reports that a sensor that delivered at its rate is silent.
  private func stall(_ device: borrowing Device, _ attempts: inout BufferAttempts) {
    guard !attempts.hasStalled else { return }
    attempts.hasStalled = true
    report(.unavailable(reason: "\(IIOError(stalled: device.object))"), nil, nil)
  }

  /// Distinguishes a sensor that has nothing to report from one whose interrupt does not work: only the latter
  /// has readings that change. An interrupt that did not work before is not examined again.
  private func examine(
    _ sensors: [IIOInventory.Sensor], _ trigger: String?, _ device: borrowing Device,
    _ attempts: inout BufferAttempts, _ heartbeat: Heartbeat
  ) throws(IIOError) {
    if let failure = attempts.failure, failure.operation == .readBuffer { return attempts.fail(failure) }
    attempts.isQuiet = true
    guard !HIDSensor.isName(device.name), device.canPoll(sensors) else { return }
    var first: [String]?
    for _ in 0..<Self.examinedReadings {
      heartbeat.beat()
      guard let reading = try device.reading(of: sensors) else { return }
      if let first, first != reading {
        return attempts.fail(IIOError(deadTrigger: trigger, of: device.object))
      }
      first = reading
      _ = wake.wait(seconds: Self.examinationInterval)
      if isStopping { return }
    }
  }

  /// The number of readings that are compared, and the time in s between them.
  private static let examinedReadings = 10
  private static let examinationInterval = 0.1

  /// Delivers the scans of the buffer.
  ///
  /// - Returns: true when the phase has ended; false if the sensor must be examined, because the buffer has
  ///   delivered nothing for the time limit.
  private func run(
    _ capture: consuming BufferedCapture, openedAt opened: Timestamp, polling rest: [IIOInventory.Sensor],
    _ phase: DemandSchedule.Phase, _ device: borrowing Device, _ attempts: inout BufferAttempts,
    _ heartbeat: Heartbeat
  ) throws(IIOError) -> Bool {
    var capture = capture
    var polled = polledSensors(rest, phase)
    var block = ScanBlock()
    let captured = capture.rates
    let trigger = capture.trigger
    var rates = captured
    if rates[.thermometer] != nil {
      rates[.thermometer] = min(configuration.temperatureFrequency, phase.hertz)
    }
    rates.merge(polled.rates) { $1 }
    let isHub = HIDSensor.isName(device.name)
    // While the sensor is polled, an attempt to use its buffer is short.
    let usual = attempts.failure == nil ? configuration.timeout : min(configuration.timeout, 1)
    let timeout = max(usual, 3 * phase.latency, 3 / max(captured.values.min() ?? phase.hertz, 1e-3))
    // Not by the boot clock: a suspended machine would count as a silent sensor.
    var lastArrival = MonotonicTime.now
    var isSilent = true
    if attempts.isQuiet, !attempts.hasStalled { report(.active(rates: rates), opened, nil) }

    while !isStopping, isCurrent(phase), isCurrent(trigger, at: captured) {
      heartbeat.beat()
      let now = Timestamp.now
      let next = polled.map(\.due).min()?.seconds(since: now) ?? timeout
      let limit = max(0, min(next, timeout, phase.until?.seconds(since: now) ?? timeout))
      let count = try capture.collect(from: device, into: &block, wake: wake, limit: limit)
      if count > 0 {
        lastArrival = .now
        attempts.succeed()
        if isSilent { report(.active(rates: rates), opened, polled.problem) }
        isSilent = false
        progress.withLock { $0.hasDelivered = true }
      } else if lastArrival.secondsElapsed > timeout {
        // A sensor of a hub reports only changes and delivers nothing at rest. If its buffer is still enabled,
        // it counts as working.
        guard try device.file("buffer/enable") != "0" else {
          throw IIOError(
            operation: .readBuffer, object: device.object, code: ENODEV,
            reason: "another program disabled its buffer")
        }
        if isHub {
          guard !isSilent || attempts.isQuiet else { return false }
        } else if !isSilent {
          stall(device, &attempts)
          return false
        } else if !attempts.isQuiet || attempts.startExamination(timeout: configuration.timeout) {
          return false
        }
        lastArrival = .now
      }
      let problem = polled.problem
      for index in polled.indices where polled[index].due <= .now {
        _ = try polled[index].read(from: device, into: &block)
      }
      if polled.problem != problem {
        for sensor in polled { rates[sensor.sensor.kind] = nil }
        rates.merge(polled.rates) { $1 }
        if !isSilent { report(.active(rates: rates), opened, polled.problem) }
      }
      block.flush(emit)
      wake.drain()
    }
    return true
  }

  private func poll(
    _ sensors: [IIOInventory.Sensor], _ phase: DemandSchedule.Phase, _ device: borrowing Device,
    _ attempts: BufferAttempts, _ heartbeat: Heartbeat
  ) throws(IIOError) {
    try setRange(of: sensors, device)
    let hasFailed = attempts.failure != nil && sensors.contains(where: \.isBuffered)
    let retry = hasFailed ? attempts.retryAt : nil
    // Polling at the demanded rate restricts nothing.
    let restriction = hasFailed && phase.hertz > configuration.pollFrequency ? attempts.failure : nil
    _ = try device.setFrequency(phase.hertz, of: sensors.filter { $0.kind != .thermometer })
    var polled = polledSensors(sensors, phase)
    var block = ScanBlock()
    var refusals = 0
    while !isStopping, isCurrent(phase), retry.map({ $0 > .now }) ?? true {
      heartbeat.beat()
      for index in polled.indices where polled[index].due <= .now {
        switch try polled[index].read(from: device, into: &block) {
        case .delivered:
          refusals = 0
          progress.withLock { $0.hasDelivered = true }
          report(.active(rates: polled.rates), nil, restriction ?? polled.problem)
        case .failed: if let failure = polled.failureOfAll { throw failure }
        case .refused:
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
      wait(until: [polled.map(\.due).min(), flush, phase.until, retry].compactMap { $0 }.min())
    }
    block.flush(emit)
  }

  private func polledSensors(
    _ sensors: [IIOInventory.Sensor], _ phase: DemandSchedule.Phase
  ) -> [PolledSensor] {
    let now = Timestamp.now
    return sensors.map { sensor in
      let limit =
        sensor.kind == .thermometer ? configuration.temperatureFrequency : configuration.pollFrequency
      let hertz = max(min(phase.hertz, limit), 1e-3)
      return PolledSensor(sensor, interval: 1 / hertz, from: now)
    }
  }

  /// Returns whether the phase still corresponds to the demands.
  private func isCurrent(_ phase: DemandSchedule.Phase) -> Bool {
    var now = currentPhase
    now.until = phase.until
    guard now == phase else { return false }
    return phase.until.map { .now < $0 } ?? true
  }
}

extension IIOError {
  /// True if the start of a capture failed.
  fileprivate var isOfStart: Bool {
    switch operation {
    case .startBuffer, .set: true
    case .open, .find, .parse, .read, .decode, .poll, .readBuffer: false
    }
  }
}

extension Device {
  /// Returns whether all channels of the sensors have a reading besides the buffer.
  fileprivate func canPoll(_ sensors: [IIOInventory.Sensor]) -> Bool {
    sensors.allSatisfy { sensor in
      sensor.channels.allSatisfy { identifier in
        let hasReading = try? withChannel(identifier) { channel throws(IIOError) in
          channel.hasAttribute("raw") || channel.hasAttribute("input")
        }
        return hasReading ?? false
      }
    }
  }

  /// Returns the present readings of all channels as text; nil if the driver rejects the reading. Throws if the
  /// chip does not respond on its bus.
  fileprivate func reading(of sensors: [IIOInventory.Sensor]) throws(IIOError) -> [String]? {
    var texts: [String] = []
    for identifier in sensors.flatMap(\.channels) {
      do throws(IIOError) {
        texts.append(
          try withChannel(identifier) { channel throws(IIOError) in
            try channel.attribute(channel.hasAttribute("raw") ? "raw" : "input") ?? ""
          })
      } catch {
        guard !error.isLoss, error.code != EIO, error.code != EREMOTEIO else { throw error }
        return nil
      }
    }
    return texts
  }
}
