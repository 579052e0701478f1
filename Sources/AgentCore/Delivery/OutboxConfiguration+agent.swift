internal import StoreAndForward

extension OutboxConfiguration {
  /// What the agent's configuration means to the durable queue.
  init(_ settings: AgentConfiguration.Store) {
    self.init()
    let lanes = [
      (\Self.events, settings.events), (\.state, settings.state), (\.tracks, settings.tracks),
      (\.other, settings.other),
    ]
    for (path, lane) in lanes {
      self[keyPath: path].bytes = lane.bytes
      self[keyPath: path].age = lane.age
      if settings.sync == .everything { self[keyPath: path].durability = .beforeAccepting }
    }
    if settings.sync == .second { events.durability = .withinASecond }
    deadLetters = settings.deadLetters
    memoryBytes = settings.memoryBytes
  }
}
