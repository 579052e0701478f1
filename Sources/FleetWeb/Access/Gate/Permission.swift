internal import Fleet
internal import HTTPTypes

/// What a role and a scope allow, by method and path: the gate's own check, beside that of each route.
enum Permission {
  /// What whoever has a link may ask for: the vehicle as it is now, and what the page needs to show it.
  private static let ofLinks: Set<String> = ["session", "vehicles", "positions", "stream", "map", "tiles"]

  static func check(
    _ path: RequestPath, _ method: HTTPRequest.Method, _ principal: Principal
  ) throws(WebError) {
    guard let parts = path.interface else {
      // Figures of the whole server, by vehicle in part.
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

  /// Whether a change there is one of vehicles, or of what others see: one's own session and stream are not.
  static func isAudited(_ path: RequestPath) -> Bool {
    guard let subject = path.interface?.first else { return true }
    return subject != "session" && subject != "stream"
  }

  /// The vehicle that a path is about.
  static func vehicle(_ path: RequestPath) -> VehicleKey? {
    guard let parts = path.interface, parts.count >= 3, parts.first == "vehicles" else { return nil }
    return VehicleKey(fleet: parts[parts.startIndex + 1], vehicle: parts[parts.startIndex + 2])
  }
}
