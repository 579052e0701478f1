package import Fleet
package import FleetControl
package import MQTT
internal import Platform

/// All that manages vehicles: the connection, its threads and the routes.
package struct ControlService: ServePart {
  private let session: ManagementSession
  private let threads: WorkerThreads
  private let desk: ControlDesk

  /// - Throws: `FleetError` for settings of the broker that make no sense.
  package init(
    _ broker: MQTTConfiguration, _ targets: VehicleTargets, _ feed: FleetFeed
  ) throws(FleetError) {
    var broker = broker
    // A broker has one connection of a name; the fleet's own is another.
    broker.clientID += "-control"
    session = try ManagementSession(broker, targets)
    do throws(SystemError) {
      threads = try WorkerThreads(name: "control", count: 2, capacity: 64)
    } catch { throw FleetError(error) }
    desk = ControlDesk(feed: feed, session: session, threads: threads)
  }

  package var routes: [any RouteGroup] { [RegionRoutes(desk), SettingsRoutes(desk), CommandRoutes(desk)] }

  /// Begins to connect.
  package func start() throws(FleetError) { try session.start() }

  package func stop() {
    session.stop()
    threads.stop()
  }
}

/// The base map and the thread that reads its file.
package struct MapService: ServePart {
  package let routes: MapRoutes

  /// - Throws: `FleetError` for a file that cannot be used.
  package init(_ settings: MapSettings) throws(FleetError) { routes = try MapRoutes(settings) }

  package func start() throws(FleetError) {}

  package func stop() { routes.stop() }
}

extension ServeParts {
  mutating func add(_ map: MapService) {
    subjects.append(map.routes)
    parts.append(map)
    imageOrigins += [map.routes.origin].compactMap { $0 }
  }

  /// Vehicles that speak another profile than the native one are not managed.
  static func canControl(_ context: ServeContext) -> Bool { context.selection.profile == .native }

  mutating func addControl(_ feed: FleetFeed, _ context: ServeContext) throws(FleetError) {
    guard Self.canControl(context) else { return }
    let selection = context.selection
    let control = try ControlService(
      context.broker,
      VehicleTargets(root: selection.root, fleets: selection.fleets, vehicles: selection.vehicles), feed)
    subjects += control.routes
    parts.append(control)
  }
}
