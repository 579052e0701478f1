internal import StoreAndForward

extension OutboxNotice {
  var event: AgentEvent {
    switch self {
    case .degraded: .storeDegraded
    case .recovered: .storeRecovered
    case .setAside: .storeSetAside
    case .newEpoch: .storeNewEpoch
    case .dropped: .storeDropped
    }
  }
}
