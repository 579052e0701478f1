internal import JSON
internal import Logging
internal import MQTT
internal import Pipeline
internal import Platform
internal import Settings
internal import Telemetry

/// Commands of the OwnTracks format. Their only answers are the messages that they cause.
extension RemoteService {
  func processOwnTracks(
    _ request: RemoteRequest, _ pipeline: inout AgentPipeline
  ) -> [RemoteManager.Decision] {
    do throws(JSONError) {
      switch try OwnTracksCommand(json: try RemoteCommand.arguments(request.payload)) {
      case .reportLocation:
        locate(
          PendingCommands.Sender(command: "reportLocation", request: request),
          accuracy: RemoteCommand.locateAccuracy, timeout: RemoteCommand.locateTimeout, &pipeline)
      case .status: plan.link.answer(.status(pipeline.lastStatus, at: time))
      case .dump: plan.link.answer(dump)
      case .waypoints:
        plan.link.answer(.waypoints(RemoteRegions.waypoints(in: regions?.features ?? [])))
      case .setWaypoints(let waypoints):
        let features = RemoteRegions.adding(waypoints, to: regions?.features ?? [])
        watch(RemoteRegions.document(features), &pipeline)
      case .clearWaypoints: watch(RemoteRegions.document([]), &pipeline)
      case .setConfiguration(let configuration): return set(configuration)
      }
    } catch {
      plan.log.notice(
        .ownTracksRefused, "OwnTracks command refused",
        metadata: ["reason": "\(error.description.prefix(200))"])
    }
    return []
  }

  /// Publishes each new or changed circle in the OwnTracks format.
  func announce(_ features: [JSONValue], before: [JSONValue]) {
    let known = Set(before)
    for waypoint in RemoteRegions.waypoints(in: features.filter({ !known.contains($0) })) {
      plan.link.answer(.waypoint(waypoint))
    }
  }

  private var dump: OwnTracksAnswer {
    var displacement: Double?
    if case .distance(let filter) = manager.active.pipeline.location.policy { displacement = filter }
    return .dump(
      displacement: displacement, keepAlive: manager.active.mqtt.client.keepAlive,
      settings: .object(manager.inForce.values.mapValues(\.json)))
  }

  /// Applies the format's settings that this agent supports, on top of earlier remote settings, under the
  /// same rules as `config/desired`.
  private func set(_ configuration: JSONValue) -> [RemoteManager.Decision] {
    var settings = manager.inForce.values.mapValues(\.json)
    for (theirs, ours) in [
      ("locatorDisplacement", "location.distance_filter"), ("keepalive", "mqtt.keepalive"),
    ] {
      settings[ours] = configuration[theirs] ?? settings[ours]
    }
    let document = JSONWriter.object { json in
      json.field("version", "owntracks")
      json.key("settings")
      json.value(.object(settings))
    }
    return manager.desired(document, isRetained: false, isOwnTracks: true, at: .now)
  }
}
