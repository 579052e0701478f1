package import Telemetry

extension AgentConfiguration {
  /// The enabled message formats.
  package struct Profiles: Sendable, Hashable {
    package var isNative: Bool
    /// OwnTracks settings; nil if the format is disabled.
    package var ownTracks: OwnTracks?
    /// Home Assistant discovery; nil if disabled.
    package var homeAssistant: HomeAssistant?
  }

  /// Settings of Home Assistant discovery.
  package struct HomeAssistant: Sendable, Hashable {
    /// Prefix of the discovery topics.
    package var prefix: String
    /// The kinds of messages that the vehicle publishes.
    package var kinds: Set<MessageKind>
  }

  /// Names in the OwnTracks format.
  package struct OwnTracks: Sendable, Hashable {
    package var user: String
    package var device: String
    /// One or two characters for a map marker.
    package var trackerID: String

    /// Topics. The names were validated when the configuration was read.
    var topics: OwnTracksTopics? { try? OwnTracksTopics(user: user, device: device) }
  }
}

extension AgentConfiguration.Profiles {
  private enum Name: String, CaseIterable {
    case native
    case owntracks
  }

  init(_ reader: ConfigurationReader, fleet: String, vehicle: String) throws(ConfigurationError) {
    let names = try reader.choices("mqtt.profile", of: Name.self)
    guard !names.isEmpty else {
      throw reader.problem("mqtt.profile", "name at least one, as [\"native\"]")
    }
    isNative = names.contains(.native)
    if names.contains(.owntracks) {
      let user = reader.optionalText("owntracks.user") ?? fleet
      let device = reader.optionalText("owntracks.device") ?? vehicle
      let readable = device.filter { $0.isLetter || $0.isNumber }
      let trackerID =
        reader.optionalText("owntracks.tid") ?? String((readable.isEmpty ? device : readable).suffix(2))
      guard (1...2).contains(trackerID.count) else {
        throw reader.problem("owntracks.tid", "must have one or two characters")
      }
      do throws(TopicError) { _ = try OwnTracksTopics(user: user, device: device) } catch {
        throw ConfigurationError(
          .invalidValue, place: reader.place(of: "owntracks.user"), problem: error.description)
      }
      ownTracks = AgentConfiguration.OwnTracks(user: user, device: device, trackerID: trackerID)
    }
    guard try reader.flag("homeassistant.enabled") else { return }
    let prefix = try reader.text("homeassistant.prefix")
    guard isNative else {
      throw ConfigurationError(
        .conflict, place: reader.place(of: "homeassistant.enabled"),
        problem: "Home Assistant reads the native topics; add \"native\" to mqtt.profile")
    }
    guard !prefix.contains(where: { "+#".contains($0) }), prefix.first != "/", prefix.last != "/" else {
      throw ConfigurationError(
        .invalidValue, place: reader.place(of: "homeassistant.prefix"),
        problem: "\"\(prefix.prefix(80))\" cannot begin a topic; leave out +, # and a slash at either end")
    }
    var kinds: Set<MessageKind> = []
    if try reader.flag("location.enabled") { kinds.insert(.location) }
    if try reader.flag("heading.enabled") { kinds.insert(.heading) }
    if try reader.flag("trips.enabled") { kinds.insert(.trip) }
    if try reader.texts("motion.events").contains("activity") { kinds.insert(.motion) }
    if try !reader.texts("events.kinds").isEmpty { kinds.insert(.drivingEvent) }
    homeAssistant = AgentConfiguration.HomeAssistant(prefix: prefix, kinds: kinds)
  }
}
