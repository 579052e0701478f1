internal import Fleet
internal import FleetCommand
internal import FleetManagement
internal import FleetProgram
internal import FleetStore
internal import Glibc
internal import JSON
internal import MQTT
internal import Spatial
internal import Telemetry

/// The `odograph replay` command: publishes a recording to a broker. Messages from vehicles are always
/// published, messages to vehicles only on request.
///
/// The command's thread reads messages and waits until they are due. The connection's thread publishes them,
/// with a bounded queue in between. A slow broker slows down the replay, without losing messages or using
/// more memory.
enum ReplayCommand {
  /// The maximum number of messages that wait to be published or acknowledged.
  private static let capacity = 4000
  /// The number of messages passed to the connection at once if they need not wait until they are due.
  private static let portion = 200
  /// The maximum time in s to wait for acknowledgements after the last message.
  private static let drain = 30.0
  /// The maximum time in s to wait for acknowledgements after a signal.
  private static let lastDrain = 0.7

  /// Replays until the end of the recording or a signal, and then waits for acknowledgements.
  /// - Throws: `FleetError` for invalid options, a missing recording, and an unreachable broker.
  static func run(_ options: Replay) throws(FleetError) -> ExitStatus {
    let (times, speed) = (try options.times(), try options.speed())
    let selection = try options.part.selection()
    try options.check()
    signal(SIGPIPE, SIG_IGN)
    let waiter = try CommandWaiter()
    let monitor = WorkMonitor(waiter, isQuiet: options.isQuiet)
    do throws(FleetError) { return try run(options, selection, times, speed, waiter, monitor) } catch {
      // A signal makes the current operation fail; the failure itself is not an error.
      guard let ending = monitor.ending else { throw error }
      monitor.clear()
      return try ending.status()
    }
  }

  private static func run(
    _ options: Replay, _ selection: RecordingSelection, _ times: ReplayTimes, _ speed: Double?,
    _ waiter: CommandWaiter, _ monitor: WorkMonitor
  ) throws(FleetError) -> ExitStatus {
    let recording = try RecordingAddress.open(options.part.place) { monitor.shouldContinue() }
    let extent = try recording.extent(selection)
    guard let received = extent.received else {
      throw .usage(
        "replay", recording.name, "nothing in it is selected; widen --from, --to, --fleet or --vehicle")
    }
    if let fleet = options.fleet, let shared = try recording.sharedName(selection) {
      throw .usage(
        "replay", "to fleet \(fleet)",
        "fleets \(shared.fleets.joined(separator: " and ")) each have a vehicle \(shared.vehicle), and both would publish to the same topics; select one fleet with --fleet"
      )
    }
    let link = try PublishLink.connected(options.broker.configuration(), capacity: capacity, waiter)
    defer { link.stop(drain: 5) }
    let queue = link.queue
    let rewriter = ReplayRewriter(
      times, fleet: options.fleet, root: options.broker.topicRoot, run: .random(in: 0 ... .max))
    var player = Player(
      options: options, rewriter: rewriter, total: extent.count, monitor: monitor, link: link,
      clock: ReplayClock(
        received, speed: speed, longestPause: options.longestPause, start: Moment.now.time))
    let begin = Moment.now
    do throws(FleetError) {
      try recording.readMessages(selection) { message throws(FleetError) in player.play(message) }
    } catch {
      guard monitor.ending != nil else { throw error }
    }
    player.handOver()
    monitor.clear()
    waiter.drain(seconds: monitor.ending == nil ? drain : lastDrain) { queue.pending }
    let seconds = Moment.now.seconds(since: begin)
    guard summary(options, queue, recording.name, leftOut: player.leftOut, seconds: seconds) else {
      return .outputFailed
    }
    if let ending = monitor.ending { return try ending.status() }
    return queue.counters.rejected > 0 || queue.pending > 0 ? .unavailable : .done
  }

  /// Publishes messages when they are due.
  private struct Player {
    let options: Replay
    let rewriter: ReplayRewriter
    let total: Int
    let monitor: WorkMonitor
    let link: PublishLink
    var clock: ReplayClock
    /// The number of messages to vehicles that were not published.
    var leftOut = 0
    var batch: [MQTTMessage] = []
    var played = 0

    /// Waits until a message is due, and passes it on for publication. Returns false after a signal.
    mutating func play(_ message: StoredMessage) -> Bool {
      if !options.playsOrders, message.isOrder {
        leftOut += 1
        played += 1
        return true
      }
      let due = clock.due(message.received)
      while true {
        let left = due.seconds(since: Moment.now.time)
        let isFull = link.queue.pending + batch.count >= capacity
        guard left > 0 || isFull else { break }
        handOver()
        guard shouldContinue(after: isFull ? 0.005 : min(left, 0.5)) else { return false }
      }
      batch.append(rewriter.message(message, clock))
      played += 1
      guard batch.count >= portion else { return true }
      handOver()
      return shouldContinue(after: 0)
    }

    mutating func handOver() {
      guard !batch.isEmpty else { return }
      link.send(batch)
      batch.removeAll(keepingCapacity: true)
    }

    private func shouldContinue(after seconds: Double) -> Bool {
      monitor.show { ProgressBar.text(played, of: total, unit: "messages") }
      return !monitor.waits(seconds: seconds)
    }
  }

  /// Prints a summary; returns false if standard output is closed.
  private static func summary(
    _ options: Replay, _ queue: PublishQueue, _ name: String, leftOut: Int, seconds: Double
  ) -> Bool {
    let counters = queue.counters
    if options.json {
      let bytes = JSONWriter.object { json in
        json.field("messages", counters.accepted)
        json.field("acknowledged", counters.acknowledged)
        json.field("rejected", counters.rejected)
        json.field("unacknowledged", queue.pending)
        json.field("leftOut", leftOut)
        json.field("bytes", counters.bytes)
        json.field("seconds", seconds, decimals: 3)
      }
      return CommandOutput.write(String(decoding: bytes, as: UTF8.self) + "\n") != .outputFailed
    }
    guard !options.isQuiet else { return true }
    var text = "\(counters.acknowledged) of \(counters.accepted) messages of \(name) acknowledged"
    if counters.rejected > 0 {
      text += ", \(counters.rejected) refused by the broker; check its access list for this user"
    }
    if leftOut > 0 { text += "; \(leftOut) messages to vehicles omitted, which --orders also publishes" }
    StandardError.report(text)
    return true
  }
}
