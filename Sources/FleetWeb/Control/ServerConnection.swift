package import Fleet
package import FleetManagement
internal import FleetProgram
internal import MQTT
internal import Platform
internal import Telemetry

extension ManagementClient {
  /// The maximum size in bytes of all vehicles' documents in memory.
  private static let documentSize = 256 << 20

  /// Creates the server's connection: its messages fill the feed, and it manages vehicles.
  ///
  /// - Throws: `FleetError` for invalid topic names or broker settings.
  package static func serving(
    _ feed: FleetFeed, _ context: ServeContext
  ) throws(FleetError) -> ManagementClient {
    let selection = context.selection
    var broker = context.broker
    // A broker sends the retained messages of thousands of vehicles at once. It drops messages that exceed
    // both the receive maximum and its queue.
    broker.receiveMaximum = .max
    let targets = VehicleTargets(
      root: selection.root, fleets: selection.fleets, vehicles: selection.vehicles)
    let paths = ServeParts.canControl(context) ? DocumentStore.Subject.allCases.flatMap(\.paths) : []
    let filters = try selection.filters()
    let mark = RetainedReading.mark(behind: filters)
    let needsAdvice = Locked(true)
    return try ManagementClient(
      broker,
      ManagementState(
        root: selection.root, paths: Set(paths), largestTotal: documentSize, user: "this server's user"),
      filters: filters, kept: try targets.filters(paths), isFeed: true
    ) { event in
      switch event {
      case .received(let batch):
        feed.receive(batch)
        if let notice = feed.noticeOfRefused(at: batch.receivedAt) { StandardError.report(notice) }
      case .answered(let filter, _): if filter == mark { feed.markKept() }
      case .published: break
      case .connection(let connection):
        if let news = feed.observe(connection, at: .now) { StandardError.report(news) }
        // Advice on the broker's address is only useful if the first attempt to connect fails; after a
        // connection, the address is correct.
        let isFirst = needsAdvice.withLock { needed in
          defer { needed = false }
          return needed
        }
        if isFirst, case .disconnected(let reason) = connection, let failure = FleetError(reason).link {
          context.advice(failure).forEach(StandardError.report)
        }
      }
    }
  }
}
