internal import JSON

/// The capabilities of this server, so that a page does not request missing data.
struct ServerAbilities: StreamSource {
  var hasRecording: Bool
  /// True if vehicles can be managed; see `ServeParts.addControl`.
  var hasControl: Bool

  var event: String { "server" }
  /// Constant while the server runs.
  var revision: UInt64 { 1 }

  func json(for principal: Principal) -> [UInt8]? {
    // The holder of a link only sees the current state of one vehicle; everything else is rejected.
    JSONWriter.object { json in
      json.field("recording", hasRecording && !principal.isLink)
      json.field("control", hasControl && !principal.isLink)
    }
  }
}
