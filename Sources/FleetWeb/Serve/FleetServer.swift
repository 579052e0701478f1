package import Fleet
internal import FleetManagement
package import FleetProgram
internal import FleetStore
internal import Glibc
internal import Hummingbird
internal import Logging
internal import MQTT
internal import NIOCore
internal import Platform
internal import ServiceLifecycle

/// The server of `odograph serve`: shows a fleet in the browser.
package enum FleetServer {
  /// The seconds for active requests to finish after a stop.
  private static let farewell = 5.0

  /// Runs until the time limit or a signal. Waits for a broker that is unavailable.
  /// - Parameters:
  ///   - context: the configuration, the broker and the served vehicles.
  ///   - timeout: the time limit in seconds; nil for none.
  /// - Returns: the reason for the end.
  /// - Throws: `FleetError` for an invalid configuration, and an address at which it cannot listen.
  package static func run(
    _ context: ServeContext, timeout: Double?
  ) throws(FleetError) -> CommandWaiter.Ending {
    var context = context
    let descriptors = DescriptorLimit.raise()
    let room = DescriptorLimit.connections(within: descriptors)
    if context.configuration.connections > room {
      StandardError.report(
        "accepts \(room) connections instead of \(context.configuration.connections): the process may open \(descriptors) "
          + "files; raise LimitNOFILE of the service, or ulimit -n")
      context.configuration.connections = room
    }
    let configuration = context.configuration
    let leaflet = try LeafletFiles(folder: configuration.leaflet)
    SignalDescriptor.ignoreBrokenPipes()
    let waiter = try CommandWaiter()
    // The access policy starts threads, which inherit the signal mask, so it is created after the waiter has
    // blocked its signals.
    let access = try ConfiguredAccess(configuration.file, listening: configuration.address)
    defer { access.stop() }
    if let warning = try configuration.check(access) { StandardError.report(warning) }
    var parts = try ServeParts(context)
    let feed = FleetFeed(roster(context), observers: parts.observers)
    let fleet = LiveFleet(feed)
    access.know { key in feed.withRoster { $0[key] != nil } }
    let client = try parts.add(fleet, context)
    let reloads = parts.reloads
    waiter.onHangUp { access.reload { file in for reload in reloads { reload(file) } } }
    let hub = StreamHub(fleet, sources: parts.sources, limits: configuration.streams)
    var server = WebServer(
      subjects: [LiveRoutes(fleet), StreamRoutes(hub), StatisticsRoutes(hub, recording: parts.recording)]
        + parts.subjects,
      roots: [HealthRoutes(feed)] + parts.roots, files: PageFiles(leaflet: leaflet), access: access)
    server.imageOrigins = parts.imageOrigins
    server.roots.append(MetricsRoutes(hub, sources: [server.counts] + parts.metrics))
    if let problem = leaflet.problem { StandardError.report("\(problem); \(LeafletFiles.remedy)") }
    try access.start()
    for part in parts.parts { try part.start() }
    defer { for part in parts.parts.reversed() { part.stop() } }
    try hub.start()
    let scheme = access.isSecure ? "https" : "http"
    let notifier = ServiceNotifier(environment: ["NOTIFY_SOCKET": environment("NOTIFY_SOCKET") ?? ""])
    let listener = try WebListener(
      server, configuration,
      started: {
        StandardError.report("the page is at \(scheme)://\($0.text)/")
        notifier?.ready()
      },
      failed: { waiter.end(.failed($0)) })
    try client.start()
    let ending = waiter.wait(seconds: timeout)
    notifier?.stopping()
    hub.stop(reason: "the server ends")
    listener.stop(timeout: farewell)
    client.stop(drain: 0.5)
    return ending
  }

  /// Returns a roster with the newest messages of the recording, as if the broker had retained them, because
  /// a broker can have lost its retained messages. A recording that cannot be read is reported, and the
  /// roster starts empty.
  private static func roster(_ context: ServeContext) -> Roster {
    var roster = Roster(
      root: context.selection.root, profile: context.selection.profile,
      capacity: context.configuration.capacity)
    guard let recording = context.configuration.recording else { return roster }
    do throws(FleetError) {
      let beginning = try RecordedBeginning.read(recording, BeginningQuery(context.selection))
      for message in beginning.messages {
        roster.apply(topic: message.topic, payload: message.payload, retained: true, at: .now)
      }
      if beginning.newest != nil { StandardError.report(beginning.sentence(at: Moment.now.time)) }
    } catch {
      StandardError.report(
        "\(error); starts without positions of the past; requests for the history open the recording again")
    }
    return roster
  }
}

/// The number of descriptors that the process may have open.
enum DescriptorLimit {
  /// Descriptors for everything but connections of browsers: libraries, stores, the broker, and connections that are accepted
  /// only to be closed. Without a free descriptor libdispatch ends the process.
  static let reserve = 192

  /// Raises the limit as far as the system allows, and returns it.
  static func raise() -> Int {
    var limit = rlimit()
    guard unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return 1024 }
    if limit.rlim_cur < limit.rlim_max {
      var raised = limit
      raised.rlim_cur = min(limit.rlim_max, 1 << 20)
      if unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &raised) == 0 { limit = raised }
    }
    return Int(clamping: limit.rlim_cur)
  }

  /// The number of connections, at least ten, for which a limit on descriptors leaves space.
  static func connections(within limit: Int) -> Int { max(10, limit - reserve) }
}
