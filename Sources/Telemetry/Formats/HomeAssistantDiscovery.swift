internal import JSON
internal import VehicleData

/// Home Assistant entities of a vehicle: a tracker on the map, sensors and driving events.
///
/// Templates select the values from the native messages. The states "motion" and "driving" come from messages
/// that are not retained, so each has a retained topic of its own below the discovery prefix.
package struct HomeAssistantDiscovery: Sendable {
  private let prefix: String
  private let topics: TopicScheme
  private let version: String
  /// The announced kinds of messages.
  private var kinds: Set<MessageKind>
  /// Published states (on or off) of binary sensors, by key of the entity.
  private var states: [String: Bool] = [:]

  /// - Parameters:
  ///   - prefix: prefix of Home Assistant's discovery topics.
  ///   - version: version of the program.
  ///   - kinds: the kinds of messages that are announced at the start. Entities of other kinds are announced with
  ///     their first message, if the kind is enabled later.
  package init(
    prefix: String, topics: TopicScheme, version: String, kinds: Set<MessageKind> = Set(MessageKind.allCases)
  ) {
    self.prefix = prefix
    self.topics = topics
    self.version = version
    self.kinds = kinds
  }

  /// The retained discovery messages, one for each entity. An empty one removes an entity of a kind that is no longer
  /// published.
  package var publications: [Publication] {
    Entity.all.map(announcement)
  }

  /// Empty retained messages that remove all entities and their states.
  package var removals: [Publication] {
    Entity.all.flatMap { entity in
      (entity.hasOwnTopic ? ["config", "state"] : ["config"]).map {
        Publication(topic: topic(of: entity, $0), payload: [], lane: .state, retain: true)
      }
    }
  }

  private func announcement(of entity: Entity) -> Publication {
    Publication(
      topic: topic(of: entity, "config"),
      payload: kinds.contains(entity.kind) ? payload(of: entity) : [],
      lane: .state, retain: true)
  }

  /// Returns the entities that a message announces, and the retained states that it changes.
  mutating func publications(for message: VehicleMessage) -> [Publication] {
    announcements(for: message) + states(changedBy: message)
  }

  private mutating func announcements(for message: VehicleMessage) -> [Publication] {
    // Impacts and shakes have no entity.
    if case .motion(let motion) = message { guard case .activity = motion.event else { return [] } }
    guard let kind = message.kind, kinds.insert(kind).inserted else { return [] }
    return Entity.all.filter { $0.kind == kind }.map(announcement)
  }

  /// Returns the retained states that a message changes.
  private mutating func states(changedBy message: VehicleMessage) -> [Publication] {
    let (key, isOn): (String, Bool)
    switch message {
    case .motion(let motion):
      guard case .activity(let state) = motion.event else { return [] }
      (key, isOn) = ("moving", state == .moving)
    // A vehicle that is carried by a ferry is not driving, so such a trip changes no state.
    case .trip(let trip):
      guard trip.kind == .driven else { return [] }
      (key, isOn) = ("driving", trip.phase != .ended)
    default: return []
    }
    guard states[key] != isOn, let entity = Entity.all.first(where: { $0.key == key }) else { return [] }
    states[key] = isOn
    return [
      Publication(
        topic: topic(of: entity, "state"), payload: Array((isOn ? "ON" : "OFF").utf8), lane: .state,
        retain: true)
    ]
  }

  private func topic(of entity: Entity, _ last: String) -> String {
    "\(prefix)/\(entity.component)/\(identifier)/\(entity.key)/\(last)"
  }

  /// Home Assistant accepts letters, digits, `_` and `-` in identifiers.
  private var identifier: String {
    let name = "odograph_\(topics.fleet)_\(topics.vehicle)"
    return String(name.map { $0.isASCII && ($0.isLetter || $0.isNumber) || $0 == "-" ? $0 : "_" })
  }

  private func payload(of entity: Entity) -> [UInt8] {
    JSONWriter.object { json in
      json.field("name", entity.name)
      json.field("unique_id", "\(identifier)_\(entity.key)")
      if entity.component == "device_tracker" {
        json.field("source_type", "gps")
        json.field("json_attributes_topic", topics.topic(entity.kind))
        json.field("json_attributes_template", entity.template)
      } else {
        json.field("state_topic", entity.hasOwnTopic ? topic(of: entity, "state") : topics.topic(entity.kind))
        if !entity.hasOwnTopic { json.field("value_template", entity.template) }
        json.field("device_class", entity.deviceClass)
        json.field("unit_of_measurement", entity.unit)
        json.field("suggested_unit_of_measurement", entity.suggestedUnit)
        json.field("suggested_display_precision", entity.suggestedDigits)
        if entity.unit != nil { json.field("state_class", entity.stateClass) }
        json.field("icon", entity.icon)
        if entity.component == "event" {
          json.field("event_types", texts: DrivingEventMessage.Kind.known.map(\.name))
        }
      }
      json.field("availability_topic", topics.topic(.status))
      // A sleeping vehicle counts as available, because it has reported the time of its next contact.
      json.field(
        "availability_template", "{{ 'offline' if value_json.state == 'offline' else 'online' }}")
      json.field("device") { json in
        json.field("identifiers", texts: [identifier])
        json.field("name", topics.vehicle)
        json.field("manufacturer", "Odograph")
        json.field("model", "odographd")
        json.field("sw_version", version)
      }
      json.field("origin") { json in
        json.field("name", "odographd")
        json.field("sw_version", version)
      }
    }
  }
}

extension HomeAssistantDiscovery {
  /// An entity in Home Assistant.
  private struct Entity {
    var component: String
    var key: String
    var name: String
    var kind: MessageKind
    var template: String
    var deviceClass: String?
    var unit: String?
    var icon: String?
    var stateClass = "measurement"
    /// The unit that Home Assistant shows by default; the user can choose another.
    var suggestedUnit: String?
    var suggestedDigits: Int?

    /// True if the state has a retained topic below the discovery prefix.
    var hasOwnTopic: Bool { component == "binary_sensor" }

    static let all = [
      Entity(
        component: "device_tracker", key: "position", name: "Position", kind: .location,
        template:
          "{{ dict(value_json, gps_accuracy=value_json.horizontalAccuracy | default(\(Int(UnstatedAccuracy.metres)))) | tojson }}"
      ),
      Entity(
        component: "sensor", key: "speed", name: "Speed", kind: .location,
        template: "{{ value_json.speed | default(none) }}", deviceClass: "speed", unit: "m/s",
        suggestedUnit: "km/h", suggestedDigits: 0),
      Entity(
        component: "sensor", key: "course", name: "Course", kind: .location,
        template: "{{ value_json.course | default(none) }}", unit: "°", icon: "mdi:navigation"),
      Entity(
        component: "sensor", key: "odometer", name: "Odometer", kind: .location,
        template: "{{ value_json.odometer | default(none) }}", deviceClass: "distance", unit: "m",
        icon: "mdi:counter", stateClass: "total_increasing", suggestedUnit: "km", suggestedDigits: 1),
      Entity(
        component: "sensor", key: "heading", name: "Heading", kind: .heading,
        template: "{{ value_json.trueHeading | default(value_json.magneticHeading) }}", unit: "°",
        icon: "mdi:compass"),
      Entity(
        component: "binary_sensor", key: "moving", name: "Moving", kind: .motion, template: "",
        deviceClass: "moving"),
      Entity(
        component: "sensor", key: "trip", name: "Trip", kind: .trip, template: "{{ value_json.distance }}",
        deviceClass: "distance", unit: "m", icon: "mdi:map-marker-distance", suggestedUnit: "km",
        suggestedDigits: 1),
      Entity(
        component: "binary_sensor", key: "driving", name: "Driving", kind: .trip, template: "",
        icon: "mdi:steering"),
      Entity(
        component: "event", key: "driving_event", name: "Driving event", kind: .drivingEvent,
        template: "{{ dict(value_json, event_type=value_json.event) | tojson }}", icon: "mdi:car-emergency"),
    ]
  }
}
