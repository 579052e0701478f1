public import Spatial

/// A function that receives a source's events. It is called on the source's own thread, so it must not block
/// for long.
public typealias SensorSink = @Sendable (SensorEvent) -> Void

/// A live source: it runs on its own threads and pushes events into a sink.
///
/// Drivers, simulators and fakes implement the same few functions.
public protocol SensorSource: AnyObject, Sendable {
  /// The name of the source in logs and in `status`.
  var name: String { get }

  /// The kinds of sensor that the source can deliver. A source that finds its hardware later can report more
  /// kinds with a `SourceStatus`.
  var kinds: Set<SensorKind> { get }

  /// Starts the source's threads. No hardware is powered before a demand is set.
  ///
  /// A source whose hardware is unreachable does not throw: it reports `unavailable` and keeps trying.
  func start(_ sink: @escaping SensorSink) throws

  /// Sets the demand for one kind. Can be called from any thread, before or after `start`.
  func setDemand(_ demand: SensorDemand, for kind: SensorKind)

  /// Sends an approximate position to a receiver. Can be called from any thread, before or after `start`; has
  /// no effect without a receiver that supports it.
  func assist(_ aid: PositionAid)

  /// Returns when the source has discovered its hardware and reported it by `SourceStatus`, or after the time
  /// limit. It powers no hardware. It blocks: call it from a thread of its own, after `start`. The default
  /// implementation returns immediately.
  func waitForDiscovery(seconds: Double)

  /// Powers the hardware down, ends the threads and returns when they have ended. No event follows.
  func stop()
}

extension SensorSource {
  public func waitForDiscovery(seconds: Double) {}

  public func assist(_ aid: PositionAid) {}
}

/// A source of recorded or computed sensor data. Events are pulled in order of time, either in real time or
/// as fast as possible on a virtual clock, with the same result.
public protocol SensorRecording: Sendable {
  /// The name of the recording in logs.
  var name: String { get }

  /// The kinds of sensor in the recording.
  var kinds: Set<SensorKind> { get }

  /// Input that was skipped so far; nil if none was.
  var skipped: SkippedInput? { get }

  /// The next event; nil at the end. Times of events never decrease.
  ///
  /// - Throws: an error with file and line for invalid input.
  mutating func next() throws -> SensorEvent?

  /// Sets the demand for one kind from the time of the last event on: a recording omits what a sleeping
  /// sensor would not have delivered.
  mutating func setDemand(_ demand: SensorDemand, for kind: SensorKind)
}

extension SensorRecording {
  public var skipped: SkippedInput? { nil }
}

/// Input that a recording's reader could not use and skipped. The remaining input was read.
public struct SkippedInput: Sendable, Hashable {
  /// Number of skipped sentences, reports, points or other units of the format.
  public var count: Int
  /// Description of the first skipped unit: file, line, problem and remedy.
  public var first: String

  public init(count: Int = 1, first: String) {
    self.count = count
    self.first = first
  }
}

/// Output of a source: a block of scans, samples or fixes in order of time, or a change of its own state.
///
/// Sources deliver blocks instead of single samples, because passing data between threads costs as much as
/// filtering several dozen samples.
public enum SensorEvent: Sendable, Hashable {
  case inertial([InertialScan])
  case barometer([PressureData])
  case position([PositionFix])
  /// Vehicle signals. They have no demand: the CAN bus is only monitored.
  case vehicle([VehicleReading])
  /// Radio scans of the surroundings.
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

  /// Returns the number of samples of one kind in the block.
  public func count(of kind: SensorKind) -> Int {
    switch self {
    case .inertial(let block): block.reduce(0) { $1.contains(kind) ? $0 + 1 : $0 }
    case .barometer(let block): kind == .barometer ? block.count : 0
    case .position(let block): kind == .positioning ? block.count : 0
    case .radio(let block): block.count { $0.contains(kind) }
    case .vehicle, .status: 0
    }
  }

  /// Returns the event with all its timestamps shifted.
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
    /// The source delivers. `rates` has the effective rate in Hz of each kind for which it is known.
    case active(rates: [SensorKind: Double])
    /// The source sleeps because there is no demand.
    case idle
    /// The source is unreachable and keeps trying. The reason is a sentence for the operator.
    case unavailable(reason: String)
    /// The recording has ended.
    case finished
  }

  /// The time of the change. For a chip that delivers in blocks and becomes active, it is the time at which
  /// the chip was powered, before its first block.
  public var timestamp: Timestamp
  /// The source's name, such as "gpsd://127.0.0.1:2947" or "iio:device0 (lsm6dsox)".
  public var source: String
  public var kinds: Set<SensorKind>
  public var state: State
  /// The name of the hardware, constant across restarts, such as "lsm6dsox"; nil if unknown.
  public var device: String?
  /// The largest value that an axis can measure, in the unit of the samples (m/s², rad/s). Kinds whose driver
  /// does not report it are missing.
  public var ranges: [SensorKind: Double]
  /// The reason why an active source delivers less than its hardware could, with the remedy, as a sentence for
  /// the operator; nil if it does not.
  public var restriction: String?
  /// Input that was skipped so far; nil if none was.
  public var skipped: SkippedInput?
  /// The access to positions that an agent permits; nil for other sources.
  public var access: PositionAccess?

  public init(
    timestamp: Timestamp, source: String, kinds: Set<SensorKind>, state: State, device: String? = nil,
    ranges: [SensorKind: Double] = [:], restriction: String? = nil, skipped: SkippedInput? = nil,
    access: PositionAccess? = nil
  ) {
    self.timestamp = timestamp
    self.source = source
    self.kinds = kinds
    self.state = state
    self.device = device
    self.ranges = ranges
    self.restriction = restriction
    self.skipped = skipped
    self.access = access
  }
}

/// A kind of sensor.
public enum SensorKind: String, Hashable, Sendable, CaseIterable, Comparable {
  case accelerometer
  case gyroscope
  case magnetometer
  case barometer
  case thermometer
  /// A satellite receiver.
  case positioning
  /// Scans of Wi-Fi access points.
  case wifi
  /// Scans of mobile network cells.
  case cellular

  /// The kinds in an `InertialScan`.
  public static let inertial: [SensorKind] = [.gyroscope, .accelerometer, .magnetometer, .thermometer]

  public static func < (a: SensorKind, b: SensorKind) -> Bool { a.rawValue < b.rawValue }
}
