internal import Fleet
internal import HTTPTypes
internal import Hummingbird
internal import JSON
internal import NIOCore
internal import Spatial
internal import Telemetry

extension WebError {
  /// Returns a 422 error: the request is valid, but vehicles would reject its content.
  static func unprocessable(_ message: String, remedy: String? = nil) -> WebError {
    WebError(.unprocessableContent, "refused", message, remedy: remedy)
  }
}

/// The shared state of the routes that manage vehicles.
package struct ControlDesk: Sendable {
  let feed: FleetFeed
  let session: ManagementSession
  /// Threads for slow work, such as parsing the documents of many vehicles.
  let threads: WorkerThreads
  let turns = VehicleTurns()

  package init(feed: FleetFeed, session: ManagementSession, threads: WorkerThreads) {
    (self.feed, self.session, self.threads) = (feed, session, threads)
  }

  /// The properties of a vehicle that matter for requests to it.
  struct Vehicle: Hashable, Sendable {
    var key: VehicleKey
    var state: VehicleState
    /// False if the vehicle has reported that remote management is disabled.
    var isManaged: Bool
    var nextContact: UTCTime?

    init(_ record: VehicleRecord) {
      (key, state) = (record.key, record.state)
      isManaged = record.status?.message.isManagedRemotely != false
      nextContact = record.nextContact
    }

    /// Throws an error if the vehicle declines management over MQTT.
    ///
    /// - Throws: 409 for such a vehicle.
    func requireManaged() throws(WebError) {
      guard isManaged else {
        throw WebError(
          .conflict, "unmanaged", "Nothing was sent: the vehicle is not managed over MQTT.",
          remedy: "Set remote.enabled = true in its configuration.")
      }
    }
  }

  /// Returns the properties of a vehicle.
  /// - Throws: 404 if the roster does not contain the vehicle.
  func vehicle(_ key: VehicleKey) throws(WebError) -> Vehicle {
    guard let record = feed.withRoster({ $0[key].map(Vehicle.init) }) else {
      throw .notFound("vehicle \(key)")
    }
    return record
  }

  /// Returns the vehicles that a principal can see, sorted.
  func vehicles(of principal: Principal) -> [VehicleKey] {
    feed.withRoster { $0.vehicles.map(\.key) }.filter(principal.sees).sorted()
  }

  /// Returns a vehicle's documents.
  ///
  /// - Throws: 503 if some documents exceeded the memory limit, because a change would be based on incomplete
  ///   data.
  func documents(
    _ subject: ManagementState.Subject, of key: VehicleKey
  ) throws(WebError) -> ManagementState.Documents {
    let documents = session.withState { $0.documents(subject, of: key) }
    guard !documents.isIncomplete else {
      throw WebError(
        .serviceUnavailable, "too-much", "The documents of all vehicles exceed this server's limit.",
        remedy: "Name fewer vehicles with --fleet and --vehicle, and serve the others with another server.")
    }
    return documents
  }

  /// Runs a change of vehicles with an audit entry about action and outcome.
  func changing(
    _ action: String, _ vehicles: [VehicleKey], detail: String, _ context: WebContext,
    _ body: () async throws -> (response: Response, outcome: String)
  ) async throws -> Response {
    do {
      let (response, outcome) = try await body()
      context.note(detail: "\(action): \(outcome): \(detail)", vehicles: vehicles)
      return response
    } catch {
      context.note(detail: "\(action): \(detail)", vehicles: vehicles)
      throw error
    }
  }

  /// Returns the response to a change that was passed to the broker.
  /// - Parameters:
  ///   - unmanaged: vehicles that decline management.
  ///   - unchanged: vehicles whose desired state is already as requested.
  func accepted(
    _ version: String, _ deliveries: [VehicleKey: ManagementSession.Delivery], unmanaged: [VehicleKey] = [],
    unchanged: Set<VehicleKey> = [], _ more: (inout JSONWriter) -> Void = { _ in }
  ) -> Response {
    let body = JSONWriter.object { json in
      json.field("request", version)
      json.key("vehicles")
      json.openArray()
      for key in (Array(deliveries.keys) + unmanaged + unchanged).sorted() {
        json.openObject()
        json.field("fleet", key.fleet)
        json.field("vehicle", key.vehicle)
        switch deliveries[key] {
        case .sent: json.field("state", "sent")
        case .unsent: json.field("state", "unsent")
        case .refused(let problem):
          json.field("state", "refused")
          json.field("problem", problem)
        case nil where unchanged.contains(key): json.field("state", "unchanged")
        case nil:
          json.field("state", "unmanaged")
          json.field("problem", "nothing was sent: the vehicle is not managed over MQTT")
        }
        json.closeObject()
      }
      json.closeArray()
      more(&json)
    }
    return .json(body, status: .accepted)
  }

  static func outcome(_ deliveries: [VehicleKey: ManagementSession.Delivery], unmanaged: Int = 0) -> String {
    let sent = deliveries.values.count { $0 == .sent }
    return sent == deliveries.count + unmanaged
      ? "sent" : "sent to \(sent) of \(deliveries.count + unmanaged)"
  }
}
