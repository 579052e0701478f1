import Foundation
import TestSupport

/// A GeoJSON file with circles on the route of the simulated drive, so that vehicles cross them.
struct RegionsOnRoute {
  let path: String

  init(in directory: TemporaryDirectory) throws {
    let scout = try AgentProcess(
      [
        "input.mode": "simulation", "input.speed": "0", "simulation.duration": "900",
        "simulation.start": "2026-11-21T00:00:00Z", "heading.enabled": "false", "attitude.enabled": "false",
        "motion.events": "", "log.level": "warning",
      ], print: true)
    scout.child.waitForExit()
    let places = scout.messages.filter { $0.kind == "location" }
    let features = [places.count / 3, places.count - 1].map { index in
      let (latitude, longitude) = (places[index].latitude ?? 0, places[index].longitude ?? 0)
      return #"{"type":"Feature","id":"place-\#(index)","properties":{"radius":150,"dwell":60},"#
        + #""geometry":{"type":"Point","coordinates":[\#(longitude),\#(latitude)]}}"#
    }
    path = try directory.write(
      "regions.geojson", #"{"type":"FeatureCollection","features":[\#(features.joined(separator: ","))]}"#)
  }
}
