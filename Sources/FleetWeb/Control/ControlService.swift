package import Fleet
package import FleetManagement
package import MQTT
internal import Platform

/// The management of vehicles: connection, threads and routes.
package struct ControlService: ServePart {
  private let session: ManagementSession
  private let threads: WorkerThreads
  private let desk: ControlDesk

  /// Creates the service.
  ///
  /// - Throws: `FleetError` for invalid broker settings.
  package init(
    _ broker: MQTTConfiguration, _ targets: VehicleTargets, _ feed: FleetFeed
  ) throws(FleetError) {
    var broker = broker
    // A broker allows one connection per client identifier, and the subscription to the fleet's messages uses
    // the configured one.
    broker.clientID += "-control"
    session = try ManagementSession(broker, targets)
    do throws(SystemError) {
      threads = try WorkerThreads(name: "control", count: 2, capacity: 64)
    } catch { throw FleetError(error) }
    desk = ControlDesk(feed: feed, session: session, threads: threads)
  }

  package var routes: [any RouteGroup] { [RegionRoutes(desk), SettingsRoutes(desk), CommandRoutes(desk)] }

  /// Starts to connect.
  package func start() throws(FleetError) { try session.start() }

  package func stop() {
    session.stop()
    threads.stop()
  }
}

/// The base map and the thread that reads its file.
package struct MapService: ServePart {
  package let routes: MapRoutes

  /// Opens the map.
  ///
  /// - Throws: `FleetError` for an unusable file.
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

  /// Returns whether vehicles can be managed, which requires the native profile.
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
