public import Spatial

/// Takes what a source hands over. Called on the source's own thread; must not block for long.
public typealias SensorSink = @Sendable (SensorEvent) -> Void

/// Live hardware: it runs on threads of its own and pushes events into a sink.
///
/// A driver is these few functions; fakes, simulators and drivers are peers.
public protocol SensorSource: AnyObject, Sendable {
  /// What to call the source in logs and in `status`.
  var name: String { get }

  /// The kinds of sensor that it can deliver. A source that finds its hardware only later may say so by a
  /// `SourceStatus` with more kinds.
  var kinds: Set<SensorKind> { get }

  /// Starts the source's threads. Nothing is powered until a demand is set.
  ///
  /// A source that cannot reach its hardware does not fail here: it says `unavailable` and keeps trying.
  func start(_ sink: @escaping SensorSink) throws

  /// Sets what is needed of one kind. May be called from any thread, before or after `start`.
  func setDemand(_ demand: SensorDemand, for kind: SensorKind)

  /// Tells a receiver where it is about. May be called from any thread, before or after `start`; whoever has no receiver that takes
  /// it does nothing.
  func assist(_ aid: PositionAid)

  /// Returns when the source has discovered its hardware and reported it by `SourceStatus`, or after the time limit. It powers
  /// nothing. It blocks: call it from a thread of its own, after `start`. By default there is nothing to discover.
  func waitForDiscovery(seconds: Double)

  /// Powers the hardware down, ends the threads and returns when they have ended. No event follows.
  func stop()
}

extension SensorSource {
  public func waitForDiscovery(seconds: Double) {}

  public func assist(_ aid: PositionAid) {}
}

/// Recorded or computed sensor data: it is pulled, in order of time, and so runs at life speed or as fast as
/// the machine can on a virtual clock, with the same result.
public protocol SensorRecording: Sendable {
  /// What to call the recording in logs.
  var name: String { get }

  /// The kinds of sensor that it holds.
  var kinds: Set<SensorKind> { get }

  /// Input that was skipped so far; nil if none was.
  var skipped: SkippedInput? { get }

  /// The next event, nil at the end. The time of an event is never before that of the one before it.
  ///
  /// - Throws: an error that names the file and the line, for input that is not what it claims to be.
  mutating func next() throws -> SensorEvent?

  /// Sets what is needed of one kind, from the time of the last event on: a recording leaves out what a
  /// sleeping sensor would not have said.
  mutating func setDemand(_ demand: SensorDemand, for kind: SensorKind)
}

extension SensorRecording {
  public var skipped: SkippedInput? { nil }
}

/// Input that a reader could not use. The rest was read.
public struct SkippedInput: Sendable, Hashable {
  /// Sentences, reports, points or other units of the format.
  public var count: Int
  /// The first one: file, line, problem and remedy.
  public var first: String

  public init(count: Int = 1, first: String) {
    self.count = count
    self.first = first
  }
}

/// What a source hands over: a block of scans, samples or fixes in order of time, or a change of its own state.
///
/// Sources hand over blocks, never single samples, because a hand-over between threads costs as much as
/// several dozen samples' worth of filtering.
public enum SensorEvent: Sendable, Hashable {
  case inertial([InertialScan])
  case barometer([PressureData])
  case position([PositionFix])
  /// What the vehicle's own bus tells. No demand is made of it: a bus is only listened to.
  case vehicle([VehicleReading])
  /// What a radio heard of the transmitters around.
  case radio([RadioScan])
  case status(SourceStatus)

  /// The time of the newest sample; nil for an empty block.
  public var timestamp: Timestamp? {
    switch self {
    case .inertial(let block): block.last?.timestamp
    case .barometer(let block): block.last?.timestamp
    case .position(let block): block.last?.timestamp
    case .vehicle(let block): block.last?.timestamp
    case .radio(let block): block.last?.timestamp
    case .status(let status): status.timestamp
    }
  }

  /// Samples of one kind of sensor in the block.
  public func count(of kind: SensorKind) -> Int {
    switch self {
    case .inertial(let block): block.reduce(0) { $1.contains(kind) ? $0 + 1 : $0 }
    case .barometer(let block): kind == .barometer ? block.count : 0
    case .position(let block): kind == .positioning ? block.count : 0
    case .radio(let block): block.count { $0.contains(kind) }
    case .vehicle, .status: 0
    }
  }

  /// The same event that much later on the time line.
  package func shifted(byNanoseconds nanoseconds: Int64) -> SensorEvent {
    func shift<Sample>(_ block: [Sample], _ time: WritableKeyPath<Sample, Timestamp>) -> [Sample] {
      block.map { sample in
        var sample = sample
        sample[keyPath: time].nanoseconds &+= nanoseconds
        return sample
      }
    }
    switch self {
    case .inertial(let block): return .inertial(shift(block, \.timestamp))
    case .barometer(let block): return .barometer(shift(block, \.timestamp))
    case .position(let block): return .position(shift(block, \.timestamp))
    case .vehicle(let block): return .vehicle(shift(block, \.timestamp))
    case .radio(let block): return .radio(shift(block, \.timestamp))
    case .status(var status):
      status.timestamp.nanoseconds &+= nanoseconds
      return .status(status)
    }
  }
}

/// A source's state, sent once per change.
public struct SourceStatus: Sendable, Hashable {
  public enum State: Sendable, Hashable {
    /// Delivers. `rates` holds the effective rate in Hz of each kind, where the source knows it.
    case active(rates: [SensorKind: Double])
    /// Asleep because nobody wants anything of it.
    case idle
    /// Not reachable; the source keeps trying. The reason is a sentence for the person on call.
    case unavailable(reason: String)
    /// A recording is over.
    case finished
  }

  public var timestamp: Timestamp
  /// The source's name, as in "gpsd://127.0.0.1:2947" or "iio:device0 (lsm6dsox)".
  public var source: String
  public var kinds: Set<SensorKind>
  public var state: State
  /// What the hardware is, by a name that stays the same across restarts, as in "lsm6dsox"; nil when it does not say.
  public var device: String?
  /// The largest value that an axis of the sensor can have, in the unit of its samples (m/s², rad/s); without the kinds whose
  /// driver does not say it.
  public var ranges: [SensorKind: Double]
  /// Input that was skipped so far; nil if none was.
  public var skipped: SkippedInput?

  public init(
    timestamp: Timestamp, source: String, kinds: Set<SensorKind>, state: State, device: String? = nil,
    ranges: [SensorKind: Double] = [:], skipped: SkippedInput? = nil
  ) {
    self.timestamp = timestamp
    self.source = source
    self.kinds = kinds
    self.state = state
    self.device = device
    self.ranges = ranges
    self.skipped = skipped
  }
}

/// What a sensor measures.
public enum SensorKind: String, Hashable, Sendable, CaseIterable, Comparable {
  case accelerometer
  case gyroscope
  case magnetometer
  case barometer
  case thermometer
  /// A satellite receiver.
  case positioning
  /// Scans for the access points around.
  case wifi
  /// The cells that a modem hears.
  case cellular

  /// The kinds that an `InertialScan` holds.
  public static let inertial: [SensorKind] = [.gyroscope, .accelerometer, .magnetometer, .thermometer]

  public static func < (a: SensorKind, b: SensorKind) -> Bool { a.rawValue < b.rawValue }
}
