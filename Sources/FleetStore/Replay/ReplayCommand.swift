package import ArgumentParser
package import Fleet
package import FleetConsole
internal import FleetControl
internal import Glibc
internal import JSON
internal import MQTT
internal import Platform
internal import Spatial
internal import Telemetry

/// The options of `odograph replay`.
package struct ReplayOptions: ParsableArguments {
  /// What becomes of the times in messages.
  enum Times: String, Hashable, Sendable, CaseIterable {
    /// They say what they would say if it happened now; messages are new ones, with epochs of their own.
    case shift
    /// Messages are those of the recording, byte by byte.
    case keep
  }

  @OptionGroup(title: "Broker") package var broker: BrokerArguments

  @OptionGroup(title: "Selection") package var part: RecordingArguments

  @Option(
    name: .customLong("speed"), parsing: .unconditional,
    help: ArgumentHelp(
      "How much faster than it was recorded, as in 1 or 10; max is as fast as the broker takes it.",
      valueName: "factor"))
  var speedText = "1"

  @Option(
    name: .customLong("times"),
    help: ArgumentHelp("shift: as if it happened now; keep: as they were recorded.", valueName: "times"))
  var timesText = "shift"

  @Option(
    name: .customLong("to-fleet"),
    help: ArgumentHelp("Play it under the topics of this fleet.", valueName: "fleet"))
  package var fleet: String?

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp("Skip beyond this in pauses of the recording.", valueName: "seconds"))
  var longestPause: Double?

  @Flag(
    name: .customLong("orders"),
    help: "Play commands, and settings and regions that were wanted, too: vehicles that listen obey them.")
  var playsOrders = false

  @Flag(help: "Print the summary as a JSON object.")
  package var json = false

  @Flag(name: [.customShort("q"), .customLong("quiet")], help: "No progress, no closing line.")
  var isQuiet = false

  package init() {}

  /// Times as fast as life; nil as fast as the broker takes it.
  func speed() throws(FleetError) -> Double? {
    if speedText == "max" { return nil }
    guard let number = Double(speedText), (0.001...100_000).contains(number) else {
      throw .usage("use", "--speed \(speedText.prefix(40))", "it is 0.001 to 100000, or max")
    }
    return number
  }

  func times() throws(FleetError) -> Times {
    if let times = Times(rawValue: timesText) { return times }
    throw .usage("use", "--times \(timesText.prefix(40))", "it is shift or keep")
  }

  /// - Throws: `FleetError` for options that make no sense.
  func check() throws(FleetError) {
    if let longestPause, !(longestPause >= 0) {
      throw .usage("use", "--longest-pause \(longestPause)", "it is 0 or more seconds")
    }
    guard let fleet else { return }
    do throws(TopicError) { _ = try TopicScheme(root: broker.topicRoot, fleet: fleet, vehicle: "v") } catch {
      throw .usage("use", "--to-fleet \"\(fleet.prefix(80))\"", error.description)
    }
  }
}

/// Plays a recording back onto a broker: what vehicles said, and what was said to them only when that is asked for.
///
/// The command's thread reads and keeps the pace, the connection's thread publishes; between them is a bounded queue that
/// holds the reading up, so that a broker that is slow costs time and neither messages nor memory.
package enum ReplayCommand {
  /// Messages that wait or are under way at most.
  private static let capacity = 4000
  /// Messages that are handed over at once where no pace separates them.
  private static let portion = 200
  /// Seconds that are waited at the end for what the broker has not acknowledged.
  private static let drain = 30.0

  /// Runs until all is played or a signal comes; what was handed to the broker by then is waited for.
  /// - Throws: `FleetError` for options that make no sense, a recording that is not there, a broker that cannot be reached.
  package static func run(_ options: ReplayOptions) throws(FleetError) -> ExitStatus {
    let (times, speed) = (try options.times(), try options.speed())
    let selection = try options.part.selection()
    try options.check()
    signal(SIGPIPE, SIG_IGN)
    let waiter = try CommandWaiter()
    let recording = try RecordingAddress.open(options.part.place)
    let extent = try recording.extent(selection)
    guard let received = extent.received else {
      throw .usage(
        "replay", recording.name, "nothing in it is selected; widen --from, --to, --fleet or --vehicle")
    }
    let link = try connect(options, waiter)
    defer { link.stop(drain: 5) }
    let queue = link.queue
    let rewriter = ReplayRewriter(
      times, fleet: options.fleet, root: options.broker.topicRoot, run: .random(in: 0 ... .max))
    var player = Player(
      options: options, rewriter: rewriter, total: extent.count, waiter: waiter, link: link,
      clock: ReplayClock(
        received, speed: speed, longestPause: options.longestPause, start: Moment.now.time))
    let begin = Moment.now
    try recording.readMessages(selection) { message throws(FleetError) in try player.play(message) }
    player.handOver()
    player.progress.clear()
    waiter.drain(seconds: drain) { queue.pending }
    let seconds = Moment.now.seconds(since: begin)
    guard summary(options, queue, recording.name, leftOut: player.leftOut, seconds: seconds) else {
      return .outputFailed
    }
    if let ending = player.ending { return ending }
    return queue.counters.rejected > 0 || queue.pending > 0 ? .unavailable : .done
  }

  /// Returns when the broker has accepted.
  private static func connect(
    _ options: ReplayOptions, _ waiter: CommandWaiter
  ) throws(FleetError) -> PublishLink {
    let isConnected = Locked(false)
    let link = try PublishLink(options.broker.configuration(), capacity: capacity) { change in
      if change == .connected { isConnected.withLock { $0 = true } }
      waiter.observe(change)
    }
    try link.start()
    while !isConnected.withLock({ $0 }) {
      switch waiter.wait(seconds: 0.02) {
      case .timedOut: continue
      case .failed(let error): throw error
      case .ended(let status):
        link.stop(drain: 0)
        throw FleetError(
          operation: "reach", object: "the broker", cause: "interrupted before it answered", exit: status)
      }
    }
    return link
  }

  /// Keeps the pace.
  private struct Player {
    let options: ReplayOptions
    let rewriter: ReplayRewriter
    let total: Int
    let waiter: CommandWaiter
    let link: PublishLink
    var clock: ReplayClock
    var progress = ProgressLine()
    var ending: ExitStatus?
    /// Messages to vehicles that were not played.
    var leftOut = 0
    var batch: [MQTTMessage] = []
    var played = 0

    /// Waits until a message is due, and publishes it. Returns false when a signal has come.
    mutating func play(_ message: StoredMessage) throws(FleetError) -> Bool {
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
        if try !pause(seconds: isFull ? 0.005 : min(left, 0.5)) { return false }
      }
      batch.append(rewriter.message(message, clock))
      played += 1
      guard batch.count >= portion else { return true }
      handOver()
      return try pause(seconds: 0)
    }

    mutating func handOver() {
      guard !batch.isEmpty else { return }
      link.send(batch)
      batch.removeAll(keepingCapacity: true)
    }

    private mutating func pause(seconds: Double) throws(FleetError) -> Bool {
      if !options.isQuiet {
        progress.show { [played, total] in ProgressBar.text(played, of: total, unit: "messages") }
      }
      switch waiter.wait(seconds: seconds) {
      case .timedOut: return true
      case .failed(let error): throw error
      case .ended(let status):
        ending = status
        return false
      }
    }
  }

  /// Returns false when the output is gone.
  private static func summary(
    _ options: ReplayOptions, _ queue: PublishQueue, _ name: String, leftOut: Int, seconds: Double
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
      return OutputStream.write(bytes + [0x0A], to: STDOUT_FILENO).map { $0.rawValue == EPIPE } ?? true
    }
    guard !options.isQuiet else { return true }
    var text = "\(counters.acknowledged) of \(counters.accepted) messages of \(name) acknowledged"
    if counters.rejected > 0 {
      text += ", \(counters.rejected) refused by the broker; check its access list for this user"
    }
    if leftOut > 0 { text += "; \(leftOut) to vehicles left out, which --orders plays too" }
    StandardError.say(text)
    return true
  }
}
