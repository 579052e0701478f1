internal import Glibc
internal import JSON
package import Logging
internal import Pipeline
internal import Platform
package import Positioning
package import Spatial
package import Telemetry

/// The GeoJSON file of `regions.path`.
package struct RegionFile {
  let collection: RegionCollection
  package let path: String

  /// - Throws: `ConfigurationError` naming the file, and the line of a JSON error.
  package init(_ path: String) throws(ConfigurationError) {
    self.path = path
    let bytes: [UInt8]
    do {
      bytes = try AtomicFile.contents(of: path)
    } catch {
      throw ConfigurationError(
        .unreadable, place: path,
        problem: "cannot be read: \(SystemError.message(for: error.code)); correct regions.path or remove it")
    }
    do {
      collection = try RegionCollection(
        json: JSONValue(parsing: bytes),
        definedAt: AtomicFile.modificationTime(of: path))
    } catch {
      throw ConfigurationError(
        .unreadable, place: path, problem: "not a GeoJSON FeatureCollection: \(error.description)")
    }
  }

  /// Monitors the valid regions and logs the invalid ones.
  /// - Returns: the report about valid and invalid regions.
  package func watch(in monitor: inout RegionMonitor, at time: UTCTime, log: Logger) -> RegionsReportedMessage
  {
    let (accepted, problems) = collection.watch(in: &monitor)
    for problem in problems {
      log.warning(.regionRefused, "region refused", metadata: ["file": "\(path)", "reason": "\(problem)"])
    }
    log.info(.regionsWatched, "regions", metadata: ["file": "\(path)", "watched": "\(accepted.count)"])
    return RegionsReportedMessage(
      time: time, state: .applied, source: .file, accepted: accepted, refused: problems.map(\.refusal))
  }

  /// Returns the findings for `odographd check`.
  package static func findings(_ configuration: AgentConfiguration.Regions) -> [Finding] {
    guard let path = configuration.path else { return [] }
    do {
      var monitor = RegionMonitor()
      let (accepted, problems) = try RegionFile(path).collection.watch(in: &monitor)
      return [Finding(.ok, "regions", "\(path) holds \(accepted.count)")]
        + problems.map {
          Finding(.warning, "regions", "\(path): \($0)", remedy: "correct it; the others are watched")
        }
    } catch {
      return [Finding(.problem, "regions", "\(error)")]
    }
  }
}

extension RegionCollection.Problem {
  /// The problem as an entry of a report about regions.
  var refusal: RegionsReportedMessage.Refusal {
    RegionsReportedMessage.Refusal(index: index, region: identifier, reason: reason)
  }
}
