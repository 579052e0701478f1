package import Fleet
package import JSON
package import MQTT
internal import Telemetry

/// The retained documents of a vehicle: desired and reported.
package struct VehicleDocuments: Hashable, Sendable {
  package var desired: JSONValue?
  package var reported: JSONValue?
  /// The states of the vehicle's regions; nil if unknown.
  package var state: JSONValue?

  package init(desired: JSONValue? = nil, reported: JSONValue? = nil, state: JSONValue? = nil) {
    (self.desired, self.reported, self.state) = (desired, reported, state)
  }
}

/// The retained documents of one subject for several vehicles.
package struct RetainedDocuments {
  /// The subject of a desired document and of the vehicle's report about it.
  package enum Subject: String, Sendable {
    case config
    case regions

    var desired: String { rawValue + "/desired" }
    var reported: String { rawValue + "/reported" }
    fileprivate var state: String { rawValue + "/state" }

    /// The paths of the retained messages. `status` also finds vehicles without documents.
    var paths: [String] { [desired, reported] + (self == .regions ? [state] : []) + ["status"] }

    fileprivate var contentType: String {
      switch self {
      case .config: "application/json"
      case .regions: "application/geo+json"
      }
    }
  }

  package let vehicles: [VehicleKey]
  private var documents: [VehicleKey: VehicleDocuments] = [:]

  /// Collects the documents.
  ///
  /// - Parameter vehicles: the vehicles, including those without retained messages.
  init(vehicles: [VehicleKey], subject: Subject, from messages: [MQTTMessage], root: String) {
    self.vehicles = vehicles
    for message in messages {
      guard let address = TopicAddress(topic: message.topic, root: root) else { continue }
      let json = try? JSONValue(parsing: message.payload)
      switch address.path {
      case subject.desired: documents[address.key, default: VehicleDocuments()].desired = json
      case subject.reported: documents[address.key, default: VehicleDocuments()].reported = json
      case subject.state: documents[address.key, default: VehicleDocuments()].state = json
      default: break
      }
    }
  }

  package subscript(key: VehicleKey) -> VehicleDocuments { documents[key] ?? VehicleDocuments() }
}

/// A connection that reads and changes the retained documents of the selected vehicles.
///
/// Desired documents are retained, so that a vehicle that is asleep reads them when it reconnects. The
/// vehicle's report is retained, too.
package final class DocumentSession {
  private let subject: RetainedDocuments.Subject
  private let targets: VehicleTargets
  private let exchange: FleetExchange
  private let retained: [MQTTMessage]

  /// Connects, and reads the documents.
  ///
  /// - Parameter beginning: returns documents of a recording, for those that the broker does not deliver.
  /// - Throws: `FleetError` for an invalid selection, and for a broker that is unreachable or rejects a
  ///   request.
  package init(
    _ subject: RetainedDocuments.Subject, of targets: VehicleTargets, at broker: MQTTConfiguration,
    beginning: BeginningQuery.Source
  ) throws(FleetError) {
    (self.subject, self.targets) = (subject, targets)
    (exchange, retained) = try FleetExchange.reading(broker, targets, subject.paths, beginning: beginning)
  }

  /// True if no vehicle is selected: fleets or vehicles are not named, and there are no retained messages.
  package var isEmptySelection: Bool { targets.isEmptySelection(retained) }

  /// Returns the documents that were retained when the session started.
  /// - Throws: `FleetError` if no vehicle is found.
  package func documents() throws(FleetError) -> RetainedDocuments {
    RetainedDocuments(
      vehicles: try targets.resolve(retained), subject: subject, from: retained, root: targets.root)
  }

  /// Publishes desired documents.
  ///
  /// - Parameters:
  ///   - document: returns the text of a vehicle's document.
  ///   - outcome: returns the outcome of a vehicle's report; nil for a report about another document.
  func request(
    _ vehicles: [VehicleKey], document: (VehicleKey) -> String,
    outcome: @escaping (VehicleKey, _ report: JSONValue) -> VehicleOutcome?
  ) -> VehicleRequests {
    let (subject, root) = (subject, targets.root)
    return VehicleRequests(exchange, vehicles, retained: retained, root: root) { key in
      MQTTMessage(
        topic: key.topic(root: root, subject.desired), text: document(key), qos: .atLeastOnce, retain: true,
        properties: MQTTMessageProperties(contentType: subject.contentType))
    } answer: { message in
      guard let address = TopicAddress(topic: message.topic, root: root), address.path == subject.reported,
        let report = try? JSONValue(parsing: message.payload)
      else { return nil }
      return outcome(address.key, report).map { (address.key, $0) }
    }
  }

  /// Disconnects from the broker.
  package func close() { exchange.close() }
}
