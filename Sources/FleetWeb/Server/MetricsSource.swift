package import Prometheus

/// A part of the server with Prometheus metrics.
package protocol MetricsSource: Sendable {
  func write(to metrics: inout MetricsText)
}
