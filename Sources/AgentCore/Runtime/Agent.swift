internal import Glibc
public import Logging
internal import Platform
internal import Sensors
internal import Spatial
internal import Telemetry

/// The agent: sensors in, messages out, until told to stop.
///
/// Threads: one per source, one for the pipeline, one for MQTT; the thread that calls `run` waits for signals. Sources
/// hand blocks to the pipeline through one bounded queue.
public final class Agent: Sendable {
  /// Where messages go.
  public enum Output: Sendable {
    case broker
    /// One JSON line each on standard output.
    case print
  }

  private let configuration: AgentConfiguration
  private let output: Output
  private let version: String
  private let log: Logger

  /// Blocks that may wait for the pipeline: some seconds of all sensors at full rate.
  private static let queueCapacity = 1024

  public init(configuration: AgentConfiguration, output: Output, version: String, log: Logger) {
    self.configuration = configuration
    self.output = output
    self.version = version
    self.log = log
  }

  /// Runs until SIGTERM or SIGINT comes or a recording ends, then leaves cleanly. Call it on the main thread, before any
  /// other thread exists.
  ///
  /// - Throws: an error with a sentence for the person on call, when the agent cannot start or go on.
  public func run() throws {
    SignalDescriptor.ignoreBrokenPipes()
    let signals = try SignalDescriptor([SIGTERM, SIGINT, SIGHUP])
    let ended = try EventDescriptor()
    let topics = try TopicScheme(
      root: configuration.topicRoot, fleet: configuration.fleet, vehicle: configuration.vehicle)
    let feed = try SensorFeed(configuration)
    try RequiredSensors(configuration).check(feed, log: log)
    let (start, time) = try feed.startOfTime(configuration.input)
    let pipeline = AgentPipeline(configuration: configuration, start: start, time: time, version: version)
    let queue = BoundedQueue<SensorEvent>(capacity: Self.queueCapacity)
    let statusRequested = Flag()
    let delivery: any MessageDelivery =
      switch output {
      case .print: PrintDelivery(topics: topics)
      case .broker:
        try BrokerDelivery(
          configuration: configuration, topics: topics, log: log, will: { pipeline.will },
          connected: {
            // The broker may have published the will of the connection before.
            statusRequested.raise()
            queue.wake()
          })
      }
    let runner = PipelineRunner(
      pipeline: pipeline, delivery: delivery, statusRequested: statusRequested, log: log)
    let outcome = Locked<(any Error)?>(nil)
    let worker = try DedicatedThread.start(name: "pipeline", stackSize: 1 << 20) {
      do {
        try runner.run(feed, queue: queue)
      } catch {
        outcome.withLock { $0 = error }
      }
      ended.signal()
    }
    log.info(
      "started",
      metadata: ["vehicle": "\(configuration.fleet)/\(configuration.vehicle)", "version": "\(version)"])
    waitForTheEnd(signals: signals, ended: ended)
    runner.requestStop()
    queue.wake()
    worker.join()
    if let error = outcome.withLock({ $0 }) { throw error }
    log.info("stopped")
  }

  private func waitForTheEnd(signals: SignalDescriptor, ended: EventDescriptor) {
    while let descriptor = waitUntilReadable([signals.descriptor, ended.descriptor]) {
      guard descriptor == signals.descriptor else { return }
      for signal in signals.received() {
        if signal == SIGHUP {
          // Nothing can be reloaded yet that a restart would not do better.
          log.notice("SIGHUP ignored; restart to read the configuration again")
        } else {
          log.info("stopping", metadata: ["signal": signal == SIGTERM ? "SIGTERM" : "SIGINT"])
          return
        }
      }
    }
  }
}
