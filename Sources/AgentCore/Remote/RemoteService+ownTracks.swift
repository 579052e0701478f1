internal import Logging
internal import Telemetry

/// Commands of the OwnTracks format. They have no answer but the messages they bring about.
extension RemoteService {
  func takeOwnTracks(
    _ request: RemoteRequest, _ pipeline: inout AgentPipeline, _ drafts: inout [MessageDraft]
  ) -> [RemoteManager.Decision] {
    guard let topics = plan.inbox.topics.ownTracks else { return [] }
    do throws(JSONError) {
      switch try OwnTracksCommand(json: try RemoteCommand.arguments(request.payload)) {
      case .reportLocation: if let report = plan.profiles.locationReport { drafts.append(report) }
      case .status:
        let native = plan.profiles.lastStatus?.payload ?? Array("{}".utf8)
        drafts.append(message(to: topics.status, OwnTracksStatus.status(at: Self.time, native: native)))
      case .dump: drafts.append(message(to: topics.dump, dump()))
      case .waypoints:
        let payload = OwnTracksWaypoint.payload(of: RemoteRegions.waypoints(in: regions?.features ?? []))
        drafts.append(message(to: topics.waypoints, payload, lane: .live))
      case .setWaypoints(let waypoints):
        let features = RemoteRegions.adding(waypoints, to: regions?.features ?? [])
        watch(RemoteRegions.document(features), &pipeline, &drafts)
      case .clearWaypoints: watch(RemoteRegions.document([]), &pipeline, &drafts)
      case .setConfiguration(let configuration): return set(configuration)
      }
    } catch {
      plan.log.notice(
        .ownTracksRefused, "OwnTracks command refused",
        metadata: ["reason": "\(error.description.prefix(200))"])
    }
    return []
  }

  /// Tells, as the format has it, each circle that is new or was changed.
  func announce(_ features: [JSONValue], before: [JSONValue]) -> [MessageDraft] {
    guard let topics = plan.inbox.topics.ownTracks else { return [] }
    let known = Set(before)
    return RemoteRegions.waypoints(in: features.filter { !known.contains($0) }).map {
      message(to: topics.waypoint, $0.payload, lane: .live)
    }
  }

  private func message(to topic: String, _ payload: [UInt8], lane: DeliveryLane = .event) -> MessageDraft {
    MessageDraft(kind: .status, topic: topic, lane: lane, retain: false) { _ in payload }
  }

  private func dump() -> [UInt8] {
    let active = manager.active
    var displacement: Double?
    if case .distance(let filter) = active.location.policy { displacement = filter }
    var settings = JSONWriter()
    settings.value(.object(manager.inForce.values.mapValues(\.json)))
    return OwnTracksStatus.dump(
      trackerID: active.profiles.ownTracks?.trackerID ?? "", displacement: displacement,
      keepAlive: active.mqtt.keepAlive, settings: settings.bytes)
  }

  /// What of the format's settings this agent has, over what was set remotely before; the same rules hold as for
  /// `config/desired`.
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
    return manager.desired(document, isRetained: false, at: Self.now)
  }
}
