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
  package let vehicles: [VehicleKey]
  private let documents: [VehicleKey: VehicleDocuments]

  /// Parses the documents.
  ///
  /// - Parameter vehicles: the vehicles, including those without retained messages.
  package init(vehicles: [VehicleKey], subject: DocumentStore.Subject, from store: DocumentStore) {
    self.vehicles = vehicles
    documents = Dictionary(
      uniqueKeysWithValues: vehicles.map { ($0, store.documents(subject, of: $0).parsed) })
  }

  package subscript(key: VehicleKey) -> VehicleDocuments { documents[key] ?? VehicleDocuments() }
}

/// A connection that reads and changes the retained documents of the selected vehicles.
package final class DocumentSession {
  private let subject: DocumentStore.Subject
  private let targets: VehicleTargets
  private let operation: ManagementOperation

  /// Connects, and reads the documents.
  ///
  /// - Parameter beginning: returns documents of a recording, for those that the broker does not deliver.
  /// - Throws: `FleetError` for an invalid selection, and for a broker that is unreachable or rejects a
  ///   request.
  package init(
    _ subject: DocumentStore.Subject, of targets: VehicleTargets, at broker: MQTTConfiguration,
    beginning: BeginningQuery.Source
  ) throws(FleetError) {
    (self.subject, self.targets) = (subject, targets)
    // `status` also finds vehicles without documents.
    operation = try ManagementOperation.reading(
      broker, targets, subject.paths + [MessageKind.status.rawValue], beginning: beginning)
  }

  /// True if no vehicle is selected: fleets or vehicles are not named, and there are no retained messages.
  package var isEmptySelection: Bool { targets.isEmptySelection(found: store.vehicles) }

  private var store: DocumentStore { operation.client.withState { $0.documents } }

  /// Returns the retained documents.
  /// - Throws: `FleetError` if no vehicle is found.
  package func documents() throws(FleetError) -> RetainedDocuments {
    let store = store
    return RetainedDocuments(
      vehicles: try targets.resolve(found: store.vehicles), subject: subject, from: store)
  }

  /// Publishes desired documents.
  ///
  /// - Parameters:
  ///   - timeout: the seconds to wait for reports; 0 to wait only for the broker's acknowledgements.
  ///   - document: returns the text of a vehicle's document.
  ///   - outcome: returns the outcome of a vehicle's report; nil for a report about another document.
  func request(
    _ vehicles: [VehicleKey], timeout: Double, document: (VehicleKey) -> String,
    outcome: @escaping @Sendable (VehicleKey, _ report: JSONValue) -> VehicleOutcome?
  ) -> VehicleRequests {
    let (subject, root) = (subject, targets.root)
    return VehicleRequests(operation, vehicles, timeout: timeout) { key in
      subject.message(Array(document(key).utf8), to: key, root: root)
    } answer: { message in
      guard let address = TopicAddress(topic: message.topic, root: root), address.path == subject.reported,
        let report = try? JSONValue(parsing: message.payload)
      else { return nil }
      return outcome(address.key, report).map { (address.key, $0) }
    }
  }

  /// Disconnects from the broker.
  package func close() { operation.close() }
}
