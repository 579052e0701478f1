internal import Telemetry

extension StoredMessage {
  /// Whether it was said to a vehicle and not by it: a command, or settings or regions that were wanted.
  ///
  /// A topic of which the recorder did not know the vehicle, as below a root that it was not told, is judged by its end:
  /// what is left out by mistake can be asked for, what live vehicles obey cannot be taken back.
  var isOrder: Bool {
    if vehicle != nil, let kind { return kind == Self.ownTracksCommand || TopicScheme.isOrder(path: kind) }
    let levels = topic.split(separator: "/", omittingEmptySubsequences: false)
    // A root, a fleet and a vehicle stand before it at least.
    if levels.count >= 4, levels[levels.count - 1] == Self.ownTracksCommand { return true }
    return levels.count >= 5 && TopicScheme.isOrder(path: levels.suffix(2).joined(separator: "/"))
  }

  /// `owntracks/USER/DEVICE/cmd`.
  private static let ownTracksCommand = "cmd"
}
