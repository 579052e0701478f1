internal import Fleet
internal import HTTPTypes
internal import Hummingbird
internal import JSON
internal import NIOCore
internal import Spatial
internal import Telemetry

extension WebError {
  /// What was sent can be read, and no vehicle would take it.
  static func unprocessable(_ message: String, remedy: String? = nil) -> WebError {
    WebError(.unprocessableContent, "refused", message, remedy: remedy)
  }
}

/// What the routes that manage vehicles have in common.
package struct ControlDesk: Sendable {
  let feed: FleetFeed
  let session: ManagementSession
  /// For what takes long.
  let threads: WorkerThreads
  let turns = VehicleTurns()

  package init(feed: FleetFeed, session: ManagementSession, threads: WorkerThreads) {
    (self.feed, self.session, self.threads) = (feed, session, threads)
  }

  /// A vehicle as far as it matters for what it is told.
  struct Vehicle: Hashable, Sendable {
    var key: VehicleKey
    var state: VehicleState
    /// Whether it takes settings, regions and commands; what does not say so may.
    var isManaged: Bool
    var nextContact: UTCTime?

    init(_ record: VehicleRecord) {
      (key, state) = (record.key, record.state)
      isManaged = record.status?.message.isManagedRemotely != false
      nextContact = record.nextContact
    }

    /// - Throws: 409 for a vehicle that is told nothing over MQTT.
    func requireManaged() throws(WebError) {
      guard isManaged else {
        throw WebError(
          .conflict, "unmanaged", "Nothing was sent: the vehicle is not managed over MQTT.",
          remedy: "Set remote.enabled = true in its configuration.")
      }
    }
  }

  /// A vehicle that exists.
  /// - Throws: 404 for any other.
  func vehicle(_ key: VehicleKey) throws(WebError) -> Vehicle {
    guard let record = feed.withRoster({ $0[key].map(Vehicle.init) }) else {
      throw .notFound("vehicle \(key)")
    }
    return record
  }

  /// The vehicles that whoever asks sees, sorted.
  func vehicles(of principal: Principal) -> [VehicleKey] {
    feed.withRoster { $0.vehicles.map(\.key) }.filter(principal.sees).sorted()
  }

  /// - Throws: 503 where documents of a vehicle found no room, so that a change would be built on a part of them.
  func documents(
    _ subject: ManagementState.Subject, of key: VehicleKey
  ) throws(WebError) -> ManagementState.Documents {
    let documents = session.withState { $0.documents(subject, of: key) }
    guard !documents.isIncomplete else {
      throw WebError(
        .serviceUnavailable, "too-much", "The documents of all vehicles are more than this server keeps.",
        remedy: "Name fewer vehicles with --fleet and --vehicle, and serve the others apart.")
    }
    return documents
  }

  /// Runs what changes vehicles; what it is and what came of it stands in the audit then.
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

  /// The answer to a change that was handed to the broker.
  /// - Parameters:
  ///   - unmanaged: vehicles that are told nothing.
  ///   - unchanged: vehicles of which already that is wanted.
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
