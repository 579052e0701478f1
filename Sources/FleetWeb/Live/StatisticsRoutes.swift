internal import Fleet
package import FleetStore
internal import Glibc
package import Hummingbird
internal import JSON
internal import Platform
internal import Spatial

/// The route `/statistics`: numbers of vehicles, message rates and delays.
package struct StatisticsRoutes: RouteGroup {
  private let hub: StreamHub
  private let recording: @Sendable () -> SideRecorder.Progress?

  /// Creates the route.
  ///
  /// - Parameter recording: returns the progress of recording; nil if there is none.
  package init(_ hub: StreamHub, recording: @escaping @Sendable () -> SideRecorder.Progress? = { nil }) {
    (self.hub, self.recording) = (hub, recording)
  }

  package func add(to router: RouterGroup<WebContext>) {
    router.get("statistics") { [hub, recording] _, context in
      let principal = try context.requirePrincipal()
      return Response.json(hub.statistics(for: principal, recording(), at: .now))
    }
  }
}

extension StreamHub {
  /// Returns the statistics of visible vehicles; those of the whole server only if all fleets are visible.
  fileprivate func statistics(
    for principal: Principal, _ recording: SideRecorder.Progress?, at now: Moment
  ) -> [UInt8] {
    var states: [VehicleState: Int] = [:]
    let seesAll = principal.scope.fleets == nil
    let revision = fleet.withTable(at: now) { table in
      for entry in table.entries where !entry.isRemoved && principal.sees(entry.key) {
        states[entry.state, default: 0] += 1
      }
      return table.revision
    }
    let (counters, delays) = fleet.feed.withRoster { ($0.counters, $0.delays) }
    let rates = fleet.feed.rates(at: now)
    let streams = self.counters
    return JSONWriter.object { json in
      json.field("now", now.time.rfc3339)
      json.field("revision", revision)
      json.field("vehicles") { json in
        for state in VehicleState.allCases {
          json.key(state.rawValue)
          json.value(states[state] ?? 0)
        }
      }
      json.field("broker") { fleet.feed.link().write(to: &$0, for: principal) }
      guard seesAll else { return }
      json.field("messages") { json in
        json.field("count", counters.messages)
        json.field("bytes", counters.bytes)
        json.field("perSecond", rates.messages, decimals: 1)
        json.field("bytesPerSecond", rates.bytes, decimals: 0)
        json.field("duplicates", counters.duplicates)
        json.field("outdated", counters.outdated)
        json.field("unreadable", counters.malformed)
        json.field("ignored", counters.ignored)
        json.field("refused", counters.refused)
      }
      json.field("delay") { json in
        json.field("median", delays.quantile(0.5), decimals: 3)
        json.field("p95", delays.quantile(0.95), decimals: 3)
        json.field("p99", delays.quantile(0.99), decimals: 3)
      }
      if let recording {
        json.field("recording") { json in
          json.field("received", recording.received)
          json.field("stored", recording.stored)
          json.field("failed", recording.isFailed)
          if recording.isRefused { json.field("refused", true) }
        }
      }
      json.field("server") { json in
        json.field("version", BuildInformation.current.version)
        json.field("streams", streams.clients)
        json.field("streamsDropped", streams.dropped)
        json.field("memory", ProcessMemory.resident)
      }
    }
  }
}

/// The memory of this process according to the kernel.
package enum ProcessMemory {
  /// The resident size in bytes; nil if unknown.
  package static var resident: Int? {
    SmallFiles.text("/proc/self/statm")?.split(separator: " ").dropFirst().first.flatMap { Int($0) }.map {
      $0 * sysconf(Int32(_SC_PAGESIZE))
    }
  }
}
