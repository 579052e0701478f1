package import Positioning
package import Telemetry

extension RegionCollection {
  /// Replaces all regions of a monitor.
  /// - Returns: the accepted identifiers, and the problems of all rejected features in order of the
  ///   collection.
  package func watch(in monitor: inout RegionMonitor) -> (accepted: [String], problems: [Problem]) {
    let acceptance = monitor.replaceAll(regions)
    let refused = acceptance.refused.map {
      Problem(index: places[$0.index], identifier: $0.identifier, reason: $0.reason.description)
    }
    return (acceptance.accepted, (problems + refused).sorted { $0.index < $1.index })
  }
}
