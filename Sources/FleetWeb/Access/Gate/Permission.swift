internal import Fleet
internal import HTTPTypes

/// The permissions of roles and scopes by method and path. The gate checks them in addition to the checks of
/// each route.
enum Permission {
  /// The first path components below `/api/v1` that the holder of a share link may request: the vehicle's
  /// current state, and what the page needs to show it.
  private static let ofLinks: Set<String> = ["session", "vehicles", "positions", "stream", "map", "tiles"]

  static func check(
    _ path: RequestPath, _ method: HTTPRequest.Method, _ principal: Principal
  ) throws(WebError) {
    guard let parts = path.interface else {
      // Metrics cover all vehicles, some of them individually, so they require access to all fleets.
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

  /// Returns whether a change is audited: true if it affects vehicles or other users, false if it affects
  /// only the sender's session or stream.
  static func isAudited(_ path: RequestPath) -> Bool {
    guard let subject = path.interface?.first else { return true }
    return subject != "session" && subject != "stream"
  }

  /// Returns the vehicle that a path names; nil if it names none.
  static func vehicle(_ path: RequestPath) -> VehicleKey? {
    guard let parts = path.interface, parts.count >= 3, parts.first == "vehicles" else { return nil }
    return VehicleKey(fleet: parts[parts.startIndex + 1], vehicle: parts[parts.startIndex + 2])
  }
}
