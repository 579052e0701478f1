public import Spatial

// The driving events that go on: what is kept of them, so that each is told to be over, whatever becomes of the agent.
extension TripRecorder {
  /// Keeps what is about to be told of an event that lasts.
  public mutating func keep(_ event: KeptEvent) {
    if let index = state.lasting.firstIndex(where: { $0.number == event.number }) {
      state.lasting[index] = event
    } else {
      state.lasting.append(event)
      if state.lasting.count > TripState.mostLasting { state.lasting.removeFirst() }
    }
    milestones += 1
  }

  /// The outbox has the end of an event.
  public mutating func confirm(eventNumber number: Int) {
    let count = state.lasting.count
    state.lasting.removeAll { $0.number == number && !$0.isOngoing }
    if state.lasting.count != count { milestones += 1 }
  }

  /// What went on when the agent was stopped by force: it is over, as far as anybody has seen. Those whose end was told already are as
  /// they were told.
  /// - Returns: all that is to be told of them, again or for the first time.
  public mutating func finishLasting() -> [KeptEvent] {
    guard !state.lasting.isEmpty else { return [] }
    for index in state.lasting.indices { state.lasting[index].finish(seen: state.seen?.time) }
    milestones += 1
    return state.lasting
  }

  /// Takes out where the vehicle was as far as nobody may know that any longer.
  public mutating func forgetPlaces(where isHidden: (Coordinate) -> Bool) {
    let before = state
    state.forgetPlaces(where: isHidden)
    if state != before { milestones += 1 }
  }
}
