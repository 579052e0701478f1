package import Fleet
package import FleetManagement
internal import Platform

/// The management of vehicles: threads and routes.
package struct ControlService: ServePart {
  private let threads: WorkerThreads
  private let desk: ControlDesk

  /// Creates the service.
  ///
  /// - Throws: `FleetError` if no thread can be created.
  package init(_ client: ManagementClient, _ feed: FleetFeed) throws(FleetError) {
    do throws(SystemError) {
      threads = try WorkerThreads(name: "control", count: 2, capacity: 64)
    } catch { throw FleetError(error) }
    desk = ControlDesk(feed: feed, client: client, threads: threads)
  }

  package var routes: [any RouteGroup] { [RegionRoutes(desk), SettingsRoutes(desk), CommandRoutes(desk)] }

  package func start() throws(FleetError) {}

  package func stop() { threads.stop() }
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

  mutating func addControl(
    _ client: ManagementClient, _ feed: FleetFeed, _ context: ServeContext
  ) throws(FleetError) {
    guard Self.canControl(context) else { return }
    let control = try ControlService(client, feed)
    subjects += control.routes
    parts.append(control)
  }
}
