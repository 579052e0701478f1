internal import HTTPTypes
internal import Hummingbird
internal import Platform
package import Prometheus

/// The number of requests by route and status, and the time until their responses started.
package final class RequestCounts: MetricsSource {
  private struct Key: Hashable {
    /// The declared route, such as `/api/v1/vehicles/{fleet}/{vehicle}`, so that different paths of a route
    /// share one key.
    var route: String
    var method: String
    var status: Int
  }

  private let counts = Locked<[Key: (count: Int, seconds: Double)]>([:])

  package init() {}

  fileprivate func add(_ route: String, _ method: HTTPRequest.Method, _ status: Int, seconds: Double) {
    // Clients can send any word as a method; unknown methods are counted together as `other`.
    let known: Set<HTTPRequest.Method> = [.get, .head, .post, .put, .patch, .delete, .options]
    let key = Key(route: route, method: known.contains(method) ? method.rawValue : "other", status: status)
    counts.withLock { counts in
      let before = counts[key] ?? (0, 0)
      counts[key] = (before.count + 1, before.seconds + seconds)
    }
  }

  package func write(to metrics: inout MetricsText) {
    let counts = counts.withLock { $0 }.sorted {
      ($0.key.route, $0.key.method, $0.key.status) < ($1.key.route, $1.key.method, $1.key.status)
    }
    func samples(_ value: ((count: Int, seconds: Double)) -> Double) -> [([(String, String)], Double?)] {
      counts.map { key, sum in
        ([("route", key.route), ("method", key.method), ("status", "\(key.status)")], value(sum))
      }
    }
    metrics.family(
      "http_requests_total", .counter, "Requests answered, by route, method and status.",
      samples { Double($0.count) })
    metrics.family(
      "http_request_seconds_total", .counter, "Total time in seconds until responses started.",
      samples { $0.seconds })
  }
}

/// A middleware that counts all requests.
struct CountRequests: RouterMiddleware {
  let counts: RequestCounts

  func handle(
    _ request: Request, context: WebContext, next: (Request, WebContext) async throws -> Response
  ) async throws -> Response {
    let begin = MonotonicTime.now
    let response = try await next(request, context)
    let isFound = context.endpointPath != nil && context.endpointPath != "NotFound"
    counts.add(
      isFound ? context.endpointPath ?? "none" : "none", request.method, response.status.code,
      seconds: begin.secondsElapsed)
    return response
  }
}
