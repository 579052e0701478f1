package import Fleet
package import FleetConsole
internal import FleetControl
internal import MQTT
internal import Platform

/// All that manages vehicles: the connection, its threads and the routes. Vehicles that speak another profile than the
/// native one are not managed.
package struct ControlService: Sendable {
  private let session: ManagementSession
  private let threads: WorkerThreads
  private let desk: ControlDesk

  /// - Throws: `FleetError` for settings of the broker that make no sense.
  package init(
    _ vehicles: VehicleArguments, _ broker: BrokerArguments, _ feed: FleetFeed,
    log: any VehicleChangeLog = StandardErrorChangeLog()
  ) throws(FleetError) {
    session = try ManagementSession(broker.configuration(), vehicles.targets(broker))
    do throws(SystemError) {
      threads = try WorkerThreads(name: "control", count: 2, capacity: 64)
    } catch { throw FleetError(error) }
    desk = ControlDesk(feed: feed, session: session, log: log, threads: threads)
  }

  package var routes: [any RouteGroup] { [RegionRoutes(desk), SettingsRoutes(desk), CommandRoutes(desk)] }

  /// Begins to connect.
  package func start() throws(FleetError) { try session.start() }

  package func stop() {
    session.stop()
    threads.stop()
  }
}
