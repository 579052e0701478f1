package import Fleet
internal import FleetConsole
internal import Glibc
internal import Hummingbird
internal import Logging
internal import MQTT
internal import NIOCore
internal import Platform
internal import ServiceLifecycle

/// The `odograph serve` command: shows a fleet in the browser.
package enum ServeCommand {
  /// The seconds for active requests to finish after a stop.
  private static let farewell = 5.0

  /// Runs until the time limit or a signal. Waits for a broker that is unavailable.
  /// - Throws: `FleetError` for invalid options, and an address at which it cannot listen.
  package static func run(_ options: ServeOptions) throws(FleetError) -> ExitStatus {
    let configuration = try ServeConfiguration(options)
    let context = ServeContext(
      configuration: configuration, broker: try options.broker.configuration(),
      selection: try options.vehicles.selection(options.broker, options.words))
    let timeout = try options.time.limit()
    let leaflet = try LeafletFiles(folder: configuration.leaflet)
    SignalDescriptor.ignoreBrokenPipes()
    let waiter = try CommandWaiter()
    // Starts threads, so it comes after the waiter has blocked its signals.
    let access = try ConfiguredAccess(configuration.file, listening: configuration.address)
    defer { access.stop() }
    if let warning = try configuration.check(access) { StandardError.say(warning) }
    DescriptorLimit.raise()
    var parts = try ServeParts(context)
    let feed = FleetFeed(
      Roster(root: context.selection.root, profile: context.selection.profile), observers: parts.observers)
    let fleet = LiveFleet(feed)
    access.know { key in feed.withRoster { $0[key] != nil } }
    try parts.add(fleet, context)
    let reloads = parts.reloads
    waiter.onHangUp { access.reload { file in for reload in reloads { reload(file) } } }
    let hub = StreamHub(fleet, sources: parts.sources, limits: configuration.streams)
    let subscriber = try subscriber(of: feed, context)
    var server = WebServer(
      subjects: [LiveRoutes(fleet), StreamRoutes(hub), StatisticsRoutes(hub, recording: parts.recording)]
        + parts.subjects,
      roots: [HealthRoutes(feed)] + parts.roots, files: PageFiles(leaflet: leaflet), access: access)
    server.imageOrigins = parts.imageOrigins
    server.roots.append(MetricsRoutes(hub, sources: [server.counts] + parts.metrics))
    if let problem = leaflet.problem { StandardError.say("\(problem); \(LeafletFiles.remedy)") }
    try access.start()
    for part in parts.parts { try part.start() }
    defer { for part in parts.parts.reversed() { part.stop() } }
    try hub.start()
    let scheme = access.isSecure ? "https" : "http"
    let listener = try WebListener(
      server, configuration, started: { StandardError.say("the page is at \(scheme)://\($0.text)/") },
      failed: { waiter.end(.failed($0)) })
    try subscriber.start()
    let ending = waiter.wait(seconds: timeout)
    hub.stop(reason: "the server ends")
    listener.stop(patience: farewell)
    subscriber.stop(drain: 0.5)
    return ending.isTimeOver ? .done : try ending.status()
  }

  private static func subscriber(
    of feed: FleetFeed, _ context: ServeContext
  ) throws(FleetError) -> FleetSubscriber {
    let filters = try context.selection.filters()
    var configuration = context.broker
    // A broker sends the retained messages of thousands of vehicles at once, and drops those beyond this
    // limit and its queue.
    configuration.receiveMaximum = .max
    return try FleetSubscriber(
      configuration, filters, .atLeastOnce,
      .init(
        received: {
          feed.receive($0)
          return .kept
        },
        connection: { connection in
          if let news = feed.observe(connection, at: .now) { StandardError.say(news) }
        }), queue: nil,
      mark: RetainedReading.mark(behind: filters).map { (filter: $0, answered: { feed.markKept(at: .now) }) })
  }
}

/// The limit of open files and sockets.
enum DescriptorLimit {
  /// Raises the limit to the system's maximum, because each connection is a socket.
  static func raise() {
    var limit = rlimit()
    guard unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0,
      limit.rlim_cur < limit.rlim_max
    else { return }
    limit.rlim_cur = min(limit.rlim_max, 1 << 20)
    _ = unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
  }
}
