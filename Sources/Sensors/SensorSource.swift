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

  /// Powers the hardware down, ends the threads and returns when they have ended. No event follows.
  func stop()
}

/// Recorded or computed sensor data: it is pulled, in order of time, and so runs at life speed or as fast as
/// the machine can on a virtual clock, with the same result.
public protocol SensorRecording: Sendable {
  /// What to call the recording in logs.
  var name: String { get }

  /// The kinds of sensor that it holds.
  var kinds: Set<SensorKind> { get }

  /// The next event, nil at the end. The time of an event is never before that of the one before it.
  ///
  /// - Throws: an error that names the file and the line, for input that is not what it claims to be.
  mutating func next() throws -> SensorEvent?

  /// Sets what is needed of one kind, from the time of the last event on: a recording leaves out what a
  /// sleeping sensor would not have said.
  mutating func setDemand(_ demand: SensorDemand, for kind: SensorKind)
}
