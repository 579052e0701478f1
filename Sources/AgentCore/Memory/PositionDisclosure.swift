internal import Bytes
internal import Pipeline
internal import Positioning
package import StoreAndForward
package import Telemetry

/// The settings that decide which positions may be published.
///
/// The broker retains the last position. If the settings change, at a start or while the agent runs, a retained position
/// that they no longer permit is deleted. The store contains the settings for which this was last decided.
package struct PositionDisclosure: Hashable, Sendable {
  private var isEnabled: Bool
  private var isReduced: Bool
  /// Size in m of the cells to which positions outside of all zones are blurred; 0 for exact positions.
  private var cell: Double
  /// Digests of the privacy zones. The store contains no zone, because zones are private themselves.
  private var zones: Set<String>

  /// Name of the document in the store.
  private static let document = "position settings"

  package init(_ configuration: AgentConfiguration) {
    let (location, privacy) = (configuration.pipeline.location, configuration.pipeline.privacy)
    isEnabled = location.isEnabled
    isReduced = location.desiredAccuracy == .reduced
    cell = privacy.accuracy ?? 0
    zones = Set(privacy.zones.map { String(FNV1a.hash64(Array("\($0)".utf8)), radix: 16) })
  }

  /// Parses the stored form; nil for anything else, such as that of an earlier version.
  init?(stored: String) {
    let words = stored.split(separator: " ").map(String.init)
    guard words.count >= 3, let isEnabled = Bool(words[0]), let isReduced = Bool(words[1]),
      let cell = Double(words[2])
    else { return nil }
    (self.isEnabled, self.isReduced, self.cell) = (isEnabled, isReduced, cell)
    zones = Set(words.dropFirst(3))
  }

  /// The stored form.
  var stored: String {
    (["\(isEnabled)", "\(isReduced)", "\(cell)"] + zones.sorted()).joined(separator: " ")
  }

  /// Returns whether every position that former settings have permitted is permitted.
  func permitsAll(of former: PositionDisclosure) -> Bool {
    (isEnabled || !former.isEnabled) && (!isReduced || former.isReduced) && cell <= former.cell
      && zones.isSubset(of: former.zones)
  }

  /// Returns what follows from a change of the settings: the publications that delete the retained position, if it may be
  /// one that is no longer permitted, and the document to store in the same commit.
  ///
  /// Without stored settings, as at the first start, nothing is deleted.
  package func change(
    from outbox: Outbox, _ formats: MessageFormats
  ) -> (publications: [Publication], documents: [PreservedDocument]) {
    let former = FormerSetting(Self.document, current: stored, outbox: outbox)
    let isPermitted = former.value.map { Self(stored: $0).map(permitsAll) ?? false } ?? true
    return (isPermitted ? [] : formats.positionRemovals, former.change)
  }
}
