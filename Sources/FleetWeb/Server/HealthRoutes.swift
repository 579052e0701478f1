internal import Fleet
package import Hummingbird
internal import JSON

/// The routes `/health/live` and `/health/ready` for service managers and load balancers, without login.
package struct HealthRoutes: RouteGroup {
  private let feed: FleetFeed

  package init(_ feed: FleetFeed) { self.feed = feed }

  package func add(to router: RouterGroup<WebContext>) {
    router.get("health/live") { _, _ in Response.json(JSONWriter.object { $0.field("live", true) }) }
    router.get("health/ready") { [feed] _, _ in
      let link = feed.link()
      let isReady = link.isConnected && link.isComplete
      // The response does not state why the server is not ready, because only users who can see the fleet may
      // know that.
      return Response.json(
        JSONWriter.object { json in
          json.field("ready", isReady)
          json.field("broker", link.isConnected)
          json.field("complete", link.isComplete)
        }, status: isReady ? .ok : .serviceUnavailable)
    }
  }
}
