internal import Fleet
package import FleetManagement
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

extension WebError {
  /// Creates the response to a request that the management client cannot serve.
  init(_ problem: ManagementProblem) {
    switch problem {
    case .notRead:
      self.init(
        .serviceUnavailable, "not-read", "The vehicles' retained messages have not been read yet.",
        remedy: "Retry in a few seconds; if the error persists, check whether the broker is reachable.",
        headers: [.retryAfter: "5"])
    case .unreachable:
      self.init(
        .serviceUnavailable, "broker-unreachable", "There is no connection to the broker; nothing was sent.",
        remedy: "Check whether the broker runs, and retry.", headers: [.retryAfter: "5"])
    case .tooManyMessages: self = .busy("Too many messages wait for the broker.")
    case .tooManyCommands: self = .busy("Too many commands wait for their answers.")
    }
  }
}

/// The shared state of the routes that manage vehicles.
package struct ControlDesk: Sendable {
  let feed: FleetFeed
  let client: ManagementClient
  /// Threads for slow work, such as parsing the documents of many vehicles.
  let threads: WorkerThreads
  let turns = VehicleTurns()

  package init(feed: FleetFeed, client: ManagementClient, threads: WorkerThreads) {
    (self.feed, self.client, self.threads) = (feed, client, threads)
  }

  /// Waits until the vehicles' retained messages were read.
  /// - Throws: 503 after the time limit.
  func waitUntilRead() async throws(WebError) {
    do throws(ManagementProblem) { try await client.waitUntilRead() } catch { throw WebError(error) }
  }

  /// Publishes desired documents, and waits for the broker's acknowledgements.
  /// - Parameter what: the documents in words, if a rejection is an error.
  /// - Throws: 503 without a connection, and if too many messages are waiting; 502 for a rejected document.
  func publish(
    _ subject: DocumentStore.Subject, _ documents: [VehicleKey: [UInt8]], refusable what: String? = nil
  ) async throws(WebError) -> RequestOutcomes {
    let reports: RequestOutcomes
    do throws(ManagementProblem) { reports = try await client.publish(subject, documents) } catch {
      throw WebError(error)
    }
    if let what, let problem = reports.outcomes.values.first(where: { !$0.isGood })?.problem {
      throw WebError(.badGateway, "broker-refused", "The \(what) were refused \(problem).")
    }
    return reports
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
    _ subject: DocumentStore.Subject, of key: VehicleKey
  ) throws(WebError) -> DocumentStore.Documents {
    let documents = client.withState { $0.documents.documents(subject, of: key) }
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
    _ version: String, _ reports: RequestOutcomes, unmanaged: [VehicleKey] = [],
    unchanged: Set<VehicleKey> = [], _ more: (inout JSONWriter) -> Void = { _ in }
  ) -> Response {
    let declining = Set(unmanaged)
    let body = JSONWriter.object { json in
      json.field("request", version)
      json.field("vehicles", objects: (reports.vehicles + unmanaged + unchanged).sorted()) { json, key in
        json.field("fleet", key.fleet)
        json.field("vehicle", key.vehicle)
        if unchanged.contains(key) {
          json.field("state", "unchanged")
        } else if declining.contains(key) {
          json.field("state", "unmanaged")
          json.field("problem", "nothing was sent: the vehicle is not managed over MQTT")
        } else {
          json.field("state", reports.state(of: key))
          json.field("problem", reports.outcomes[key]?.problem)
        }
      }
      more(&json)
    }
    return .json(body, status: .accepted)
  }

  static func outcome(_ reports: RequestOutcomes, unmanaged: Int = 0) -> String {
    let sent = reports.outcomes.values.count(where: \.isGood)
    let count = reports.vehicles.count + unmanaged
    return sent == count ? "sent" : "sent to \(sent) of \(count)"
  }
}
