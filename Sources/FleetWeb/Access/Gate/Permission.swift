internal import Fleet
internal import HTTPTypes

/// The permissions of a role and a scope by method and path, checked by the gate in addition to each route.
enum Permission {
  /// The routes for the holder of a link: the current state of the vehicle, and what the page needs to show
  /// it.
  private static let ofLinks: Set<String> = ["session", "vehicles", "positions", "stream", "map", "tiles"]

  static func check(
    _ path: RequestPath, _ method: HTTPRequest.Method, _ principal: Principal
  ) throws(WebError) {
    guard let parts = path.interface else {
      // Metrics of the whole server, partly by vehicle.
      guard path.parts.first != "metrics" || principal.scope.fleets == nil else { throw .scopeTooNarrow }
      return
    }
    if let vehicle = vehicle(path), !principal.sees(vehicle) { throw .notFound("vehicle \(vehicle)") }
    let subject = parts.first ?? ""
    if principal.isLink {
      let isDeeper = subject == "vehicles" && parts.count > 3
      guard ofLinks.contains(subject), !isDeeper else { throw .linkOnly }
    }
    if changes(method), isAudited(path), principal.role < .operate { throw .roleTooLow }
  }

  private static func changes(_ method: HTTPRequest.Method) -> Bool {
    ![.get, .head, .options].contains(method)
  }

  /// Returns whether a change concerns vehicles or other users, unlike the own session and stream.
  static func isAudited(_ path: RequestPath) -> Bool {
    guard let subject = path.interface?.first else { return true }
    return subject != "session" && subject != "stream"
  }

  /// Returns the vehicle of a path; nil if there is none.
  static func vehicle(_ path: RequestPath) -> VehicleKey? {
    guard let parts = path.interface, parts.count >= 3, parts.first == "vehicles" else { return nil }
    return VehicleKey(fleet: parts[parts.startIndex + 1], vehicle: parts[parts.startIndex + 2])
  }
}
