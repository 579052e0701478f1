internal import Positioning
internal import Spatial
internal import Telemetry

extension VehicleRecord {
  /// As many as a vehicle is believed to have had stores while somebody watched.
  private static let rememberedEpochs = 8

  /// Takes in a message of this vehicle.
  mutating func apply(_ message: VehicleMessage, _ arrival: Arrival) -> Roster.Outcome {
    if case .status(let status) = message, status.isWill { return takeWill(status, arrival) }
    let stamp = MessageStamp(
      identity: message.identity, time: message.time ?? arrival.moment.time, isRetained: arrival.isRetained,
      receivedAt: arrival.moment)
    switch order(of: stamp, arrival) {
    case .duplicate: return .duplicate
    case .older: return .outdated
    case .newer: break
    }
    if case .status(let status) = message, let sessionStart, status.sessionStart < sessionStart,
      stamp.identity == nil || arrival.isRetained
    {
      return .outdated
    }
    stamps[arrival.kind] = stamp
    remember(epoch: stamp.identity?.epoch)
    if !arrival.isRetained { lastHeard = arrival.moment }
    store(message, arrival)
    return .applied
  }

  private func order(of stamp: MessageStamp, _ arrival: Arrival) -> MessageOrder {
    switch arrival.kind {
    case .heading, .attitude:
      // QoS 0 keeps the order of its connection and repeats nothing: a clock that was set back holds nothing up.
      guard !arrival.isRetained, let last = stamps[arrival.kind] else { break }
      return stamp.time == last.time ? .duplicate : .newer
    default: break
    }
    return MessageOrder(of: stamp, after: stamps[arrival.kind], formerEpochs: formerEpochs)
  }

  /// A will was written when its session began and arrives when that ended without a word. It counts unless a later
  /// session has begun since; its time says nothing about when.
  private mutating func takeWill(_ will: StatusMessage, _ arrival: Arrival) -> Roster.Outcome {
    if let sessionStart, will.sessionStart < sessionStart { return .outdated }
    if state == .offline, status?.message.isWill == true, will.sessionStart == sessionStart {
      return .duplicate
    }
    sessionStart = will.sessionStart
    status = Received(message: will, receivedAt: arrival.moment, isRetained: arrival.isRetained)
    state = .offline
    note("lost", arrival)
    return .applied
  }

  private mutating func store(_ message: VehicleMessage, _ arrival: Arrival) {
    func received<Message>(_ message: Message) -> Received<Message> {
      Received(message: message, receivedAt: arrival.moment, isRetained: arrival.isRetained)
    }
    switch message {
    case .status(let message):
      let before = state
      sessionStart = message.sessionStart
      status = received(message)
      state =
        switch message.state {
        case .online: .online
        case .asleep: .asleep
        case .offline: .offline
        }
      if state != before { note(state.rawValue, arrival, time: message.time) }
    case .location(let message):
      location = received(message)
      trail.append(message.location.coordinate)
      predict(from: message, arrival)
    case .heading(let message): heading = received(message)
    case .attitude(let message): attitude = received(message)
    case .motion(let message): event = received(VehicleEvent(message))
    case .region(let message):
      let crossing = VehicleEvent(message)
      event = received(crossing)
      noteRegion(crossing)
    case .track, .commandResponse, .configReported, .regionsReported: break
    }
  }

  private mutating func noteRegion(_ event: VehicleEvent) {
    guard let region = event.region else { return }
    insideRegions.removeAll { $0 == region }
    if event.entersRegion == true { insideRegions.append(region) }
    if insideRegions.count > 32 { insideRegions.removeFirst() }
  }

  /// A change of state is an event too. What the broker had kept was no change that anyone saw.
  private mutating func note(_ summary: String, _ arrival: Arrival, time: UTCTime? = nil) {
    guard !arrival.isRetained else { return }
    event = Received(
      message: VehicleEvent(summary: summary, time: time), receivedAt: arrival.moment, isRetained: false)
  }

  /// A live location says that the vehicle is there, in a profile that has no other word for it.
  mutating func notePresence(_ arrival: Arrival) {
    guard !arrival.isRetained, state != .online else { return }
    if state == .offline { note(VehicleState.online.rawValue, arrival) }
    state = .online
  }

  private mutating func remember(epoch new: String?) {
    guard let new, new != epoch else { return }
    if let epoch {
      formerEpochs.append(epoch)
      if formerEpochs.count > Self.rememberedEpochs { formerEpochs.removeFirst() }
    }
    epoch = new
  }
}
