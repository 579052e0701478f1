internal import JSON

/// Announces the vehicle to Home Assistant: a tracker on the map, and what else is worth a line on a dashboard. The
/// values themselves are the native messages; templates pick them out.
public struct HomeAssistantDiscovery: Sendable {
  private let prefix: String
  private let topics: TopicScheme
  private let version: String

  /// - Parameters:
  ///   - prefix: of Home Assistant's discovery topics.
  ///   - version: of the program.
  public init(prefix: String, topics: TopicScheme, version: String) {
    self.prefix = prefix
    self.topics = topics
    self.version = version
  }

  /// One retained message for each entity.
  public var publications: [Publication] {
    Entity.all.map { entity in
      Publication(
        topic: "\(prefix)/\(entity.component)/\(identifier)/\(entity.key)/config",
        payload: payload(of: entity),
        lane: .state, retain: true)
    }
  }

  /// Home Assistant takes letters, digits, `_` and `-` in these.
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
        json.field("state_topic", topics.topic(entity.kind))
        json.field("value_template", entity.template)
        json.field("device_class", entity.deviceClass)
        json.field("unit_of_measurement", entity.unit)
        if entity.unit != nil { json.field("state_class", entity.stateClass) }
        json.field("icon", entity.icon)
        if entity.component == "event" {
          json.field("event_types", texts: DrivingEventMessage.Kind.known.map(\.name))
        }
      }
      json.field("availability_topic", topics.topic(.status))
      // A vehicle that sleeps is there, and says when it will speak again.
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
  /// One thing that Home Assistant shows.
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

    static let all = [
      Entity(
        component: "device_tracker", key: "position", name: "Position", kind: .location,
        template: "{{ dict(value_json, gps_accuracy=value_json.horizontalAccuracy | default(0)) | tojson }}"),
      Entity(
        component: "sensor", key: "speed", name: "Speed", kind: .location,
        template: "{{ value_json.speed | default(none) }}", deviceClass: "speed", unit: "m/s"),
      Entity(
        component: "sensor", key: "course", name: "Course", kind: .location,
        template: "{{ value_json.course | default(none) }}", unit: "°", icon: "mdi:navigation"),
      Entity(
        component: "sensor", key: "odometer", name: "Odometer", kind: .location,
        template: "{{ value_json.odometer | default(none) }}", deviceClass: "distance", unit: "m",
        icon: "mdi:counter", stateClass: "total_increasing"),
      Entity(
        component: "sensor", key: "heading", name: "Heading", kind: .heading,
        template: "{{ value_json.trueHeading | default(value_json.magneticHeading) }}", unit: "°",
        icon: "mdi:compass"),
      // Other events than these two render to nothing, which leaves the state as it is.
      Entity(
        component: "binary_sensor", key: "moving", name: "Moving", kind: .motion,
        template: "{{ {'moving': 'ON', 'stationary': 'OFF'}.get(value_json.event, '') }}",
        deviceClass: "moving"),
      Entity(
        component: "sensor", key: "trip", name: "Trip", kind: .trip, template: "{{ value_json.distance }}",
        deviceClass: "distance", unit: "m", icon: "mdi:map-marker-distance"),
      // A ferry's way is no drive, and leaves the state as it is.
      Entity(
        component: "binary_sensor", key: "driving", name: "Driving", kind: .trip,
        template:
          "{{ '' if value_json.kind != 'driven' else 'OFF' if value_json.phase == 'ended' else 'ON' }}",
        icon: "mdi:steering"),
      Entity(
        component: "event", key: "driving_event", name: "Driving event", kind: .drivingEvent,
        template: "{{ dict(value_json, event_type=value_json.event) | tojson }}", icon: "mdi:car-emergency"),
    ]
  }
}
