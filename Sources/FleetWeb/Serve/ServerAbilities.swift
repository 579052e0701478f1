internal import JSON

/// What this server can tell beside what is live, for a page that asks for nothing that is not there.
struct ServerAbilities: StreamSource {
  var hasRecording: Bool
  /// Whether vehicles can be given commands, settings and regions; see `ServeParts.addControl`.
  var hasControl: Bool

  var event: String { "server" }
  /// It does not change while the server runs.
  var revision: UInt64 { 1 }

  func json(for principal: Principal) -> [UInt8]? {
    // Who has a link sees one vehicle as it is now: the rest is refused to them.
    JSONWriter.object { json in
      json.field("recording", hasRecording && !principal.isLink)
      json.field("control", hasControl && !principal.isLink)
    }
  }
}
