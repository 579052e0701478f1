public import Spatial

// Lasting driving events. They are stored, so that the end of each event is reported even if the agent is
// killed.
extension TripRecorder {
  /// Stores a lasting event before it is published.
  public mutating func keep(_ event: StoredEvent) {
    if let index = state.lasting.firstIndex(where: { $0.number == event.number }) {
      state.lasting[index] = event
    } else {
      state.lasting.append(event)
      if state.lasting.count > TripState.mostLasting { state.lasting.removeFirst() }
    }
    milestones += 1
  }

  /// Removes an event whose end is in the outbox.
  public mutating func confirm(eventNumber number: Int) {
    let count = state.lasting.count
    state.lasting.removeAll { $0.number == number && !$0.isOngoing }
    if state.lasting.count != count { milestones += 1 }
  }

  /// Ends the events that were ongoing when the agent was killed, at the last stored time. Events that
  /// already ended are unchanged.
  /// - Returns: all events to publish, including those that may already have been published.
  public mutating func finishLasting() -> [StoredEvent] {
    guard !state.lasting.isEmpty else { return [] }
    for index in state.lasting.indices { state.lasting[index].finish(seen: state.seen?.time) }
    milestones += 1
    return state.lasting
  }

  /// Removes the positions of stored events that are hidden now.
  public mutating func forgetPlaces(where isHidden: (Coordinate) -> Bool) {
    let before = state
    state.forgetPlaces(where: isHidden)
    if state != before { milestones += 1 }
  }
}
