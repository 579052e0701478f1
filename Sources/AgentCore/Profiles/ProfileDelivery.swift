internal import Platform
internal import Positioning
internal import Spatial
internal import Telemetry

/// Stands before a delivery and says each message in every format that is configured.
final class ProfileDelivery: MessageDelivery {
  private struct State {
    var ownTracks: OwnTracksProfile?
    /// Messages that go out before the first one.
    var first: [MessageDraft]
    var status: (number: Int, payload: [UInt8])?
  }

  private let next: any MessageDelivery
  private let isNative: Bool
  private let keepsStatus: Bool
  private let state: Locked<State>

  /// - Throws: `TopicError` when a name cannot stand in a topic.
  init(_ next: any MessageDelivery, configuration: AgentConfiguration, topics: TopicScheme, version: String)
    throws
  {
    self.next = next
    isNative = configuration.profiles.isNative
    keepsStatus = configuration.remote.isEnabled
    let discovery = configuration.profiles.homeAssistantPrefix.map {
      HomeAssistantDiscovery(prefix: $0, topics: topics, version: version).drafts
    }
    state = Locked(
      State(
        ownTracks: try configuration.profiles.ownTracks.map(OwnTracksProfile.init), first: discovery ?? [])
    )
  }

  func accept(_ drafts: [MessageDraft]) throws { try next.accept(expanded(drafts)) }

  var counters: [String: Int] { next.counters }
  var storeProblem: String? { next.storeProblem }
  var sessionStart: UTCTime? { next.sessionStart }
  var radio: EnergyLedger.Usage { next.radio }
  var link: LinkReport? { next.link }
  func note(_ status: StatusMessage) { next.note(status) }
  func note(isAtRest: Bool, at timestamp: Timestamp) { next.note(isAtRest: isAtRest, at: timestamp) }

  /// The newest status message, and how many there were; nil before the first, and unless managed remotely.
  var lastStatus: (number: Int, payload: [UInt8])? { state.withLock { $0.status } }

  /// The answer to OwnTracks' `reportLocation`; nil before the first fix.
  var locationReport: MessageDraft? { state.withLock { $0.ownTracks?.report() } }

  func stop(farewell: MessageDraft) throws {
    let drafts = expanded([farewell])
    // The last one is the last word, which the delivery holds back until all else is said.
    guard let last = drafts.last else { return try next.stop(farewell: farewell) }
    if drafts.count > 1 { try next.accept(Array(drafts.dropLast())) }
    try next.stop(farewell: last)
  }

  private func expanded(_ drafts: [MessageDraft]) -> [MessageDraft] {
    state.withLock { state in
      var all = state.first
      state.first = []
      for draft in drafts {
        if draft.topic == nil {
          all += state.ownTracks?.translate(draft) ?? []
          if keepsStatus, draft.kind == .status {
            state.status = ((state.status?.number ?? 0) + 1, draft.encode(nil))
          }
        }
        if isNative || draft.topic != nil { all.append(draft) }
      }
      return all
    }
  }
}
