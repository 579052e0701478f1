package import ArgumentParser
package import Fleet
package import FleetConsole
internal import FleetAlerts
internal import Hummingbird
internal import Logging
internal import MQTT
internal import ServiceLifecycle

/// The options of `odograph serve`.
package struct ServeOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp("The address and port to listen at.", valueName: "address"))
  package var listen = "127.0.0.1:8080"

  @Option(help: ArgumentHelp("A file with more to configure.", valueName: "file"), completion: .file())
  package var config: String?

  @OptionGroup package var vehicles: VehicleArguments

  @OptionGroup package var time: TimeLimitArguments

  @OptionGroup(title: "Broker") package var broker: BrokerArguments

  @OptionGroup(title: "Broker") package var words: MessageProfileArguments

  package init() {}
}

/// Shows a fleet in the browser.
package enum ServeCommand {
  /// Runs until the time is over or a signal comes.
  /// - Throws: `FleetError` for options that make no sense, a broker that cannot be reached, and an address that cannot
  ///   be listened at.
  package static func run(_ options: ServeOptions) throws(FleetError) -> ExitStatus {
    let address = try ListenAddress(parsing: options.listen)
    let broker = try options.broker.configuration()
    let selection = try options.vehicles.selection(options.broker, options.words)
    let timeout = try options.time.limit()
    let waiter = try CommandWaiter()
    var observers: [any FleetObserver] = []
    var alerts: AlertService?
    if let path = options.config, let settings = try AlertSettings(try SettingsFile(path: path)) {
      let service = AlertService(settings, profile: selection.profile, root: selection.root) {
        StandardError.say($0)
      }
      try service.start()
      observers.append(service)
      alerts = service
    }
    defer { alerts?.stop() }
    let connected = observers
    let feed = FleetFeed(Roster(root: selection.root, profile: selection.profile), observers: observers)
    let subscriber = try FleetSubscriber(
      broker: broker, filters: selection.filters(),
      handlers: .init(
        received: {
          feed.receive($0)
          return .kept
        },
        connection: { connection in
          waiter.observe(connection)
          for observer in connected { observer.observe(connection) }
        }))
    try subscriber.start()
    defer { subscriber.stop(drain: 0.5) }
    let server = WebServer(subjects: [])
    var logger = Logger(label: "odograph")
    logger.logLevel = .error
    let application = Application(
      router: server.router(),
      configuration: .init(address: .hostname(address.host, port: address.port), serverName: nil),
      logger: logger)
    let group = ServiceGroup(configuration: .init(services: [application], logger: logger))
    let run = Task.detached {
      do {
        try await group.run()
      } catch {
        waiter.end(
          .failed(
            FleetError(
              operation: "listen at", object: options.listen, cause: "\(error)", exit: .unavailable)))
      }
    }
    let ending = waiter.wait(seconds: timeout)
    Task.detached { await group.triggerGracefulShutdown() }
    _ = run
    return ending.isTimeOver ? .done : try ending.status()
  }
}
