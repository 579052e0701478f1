internal import Fleet
package import Hummingbird
internal import NIOCore
internal import Platform
internal import Prometheus
internal import Spatial

/// The route `/metrics` for Prometheus. Requires access to all fleets, because its numbers include all of
/// them.
package struct MetricsRoutes: RouteGroup {
  private let hub: StreamHub
  private let sources: [any MetricsSource]
  private let begin = Moment.now

  package init(_ hub: StreamHub, sources: [any MetricsSource]) {
    (self.hub, self.sources) = (hub, sources)
  }

  package func add(to router: RouterGroup<WebContext>) {
    router.get("metrics") { _, context in
      guard try context.requirePrincipal().scope.fleets == nil else {
        throw WebError.forbidden("the metrics include all fleets, but your permissions are limited to some")
      }
      var metrics = MetricsText()
      write(to: &metrics, at: .now)
      for source in sources { source.write(to: &metrics) }
      return Response(
        status: .ok,
        headers: [.contentType: "text/plain; version=0.0.4; charset=utf-8", .cacheControl: "no-store"],
        body: .init(byteBuffer: ByteBuffer(string: metrics.text)))
    }
  }

  private func write(to metrics: inout MetricsText, at now: Moment) {
    let feed = hub.fleet.feed
    let (counters, delays, states) = feed.withRoster { roster in
      (
        roster.counters, roster.delays,
        VehicleState.allCases.map { (labels: [("state", $0.rawValue)], value: Double(roster.count(of: $0))) }
      )
    }
    metrics.family(
      "server_build_info", .gauge, "Constant 1, labelled with the server's version.",
      [([("version", BuildInformation.current.version)], 1)])
    metrics.gauge("server_uptime_seconds", "Seconds since the server started.", now.seconds(since: begin))
    metrics.family(
      "fleet_vehicles", .gauge, "Vehicles by state.", states.map { ($0.labels, $0.value) })
    metrics.counter("fleet_messages_total", "Messages received from the broker.", counters.messages)
    metrics.counter("fleet_bytes_total", "Bytes of topics and payloads received.", counters.bytes)
    metrics.family(
      "fleet_messages_unused_total", .counter, "Messages that changed nothing, by reason.",
      [
        ([("reason", "duplicate")], Double(counters.duplicates)),
        ([("reason", "outdated")], Double(counters.outdated)),
        ([("reason", "unreadable")], Double(counters.malformed)),
        ([("reason", "ignored")], Double(counters.ignored)),
        ([("reason", "refused")], Double(counters.refused)),
      ])
    metrics.family(
      "fleet_delay_seconds", .gauge,
      "Delay of recent messages from the vehicle's clock, by quantile; without vehicles with a wrong clock.",
      [0.5, 0.95, 0.99].map { ([("quantile", "\($0)")], delays.quantile($0)) })
    let link = feed.link()
    metrics.gauge("broker_up", "Whether the broker is connected.", link.isConnected ? 1 : 0)
    metrics.counter("broker_losses_total", "Connections to the broker that were lost.", link.losses)
    let streams = hub.counters
    metrics.gauge("server_streams", "Open streams of events.", Double(streams.clients))
    metrics.counter("server_streams_opened_total", "Streams of events that were opened.", streams.opened)
    metrics.family(
      "server_streams_ended_total", .counter, "Refused streams, by reason.",
      [([("reason", "stuck")], Double(streams.dropped)), ([("reason", "full")], Double(streams.refused))])
    metrics.counter(
      "server_stream_events_total", "Events sent to all clients.", streams.events)
    metrics.counter("server_stream_bytes_total", "Compressed bytes of events sent.", streams.bytes)
    metrics.gauge(
      "server_resident_bytes", "Memory of the server.", ProcessMemory.resident.map(Double.init))
  }
}
