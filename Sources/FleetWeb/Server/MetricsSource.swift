package import Prometheus

/// A part of the server that tells Prometheus something.
package protocol MetricsSource: Sendable {
  func write(to metrics: inout MetricsText)
}
