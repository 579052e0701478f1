internal import Fleet
internal import SQLite
internal import Spatial

/// Changes of the settings while the service runs.
extension AlertWorker {
  func use(_ new: AlertSettings, at now: Moment) {
    for change in engine.use(new.rules, at: now) { take(change, at: now) }
    plan.use(new.rules, zone: new.zone, at: now)
    writes.rules = new.rules
    let former = settings.receivers
    settings = new
    for receiver in former where !new.receivers.contains(receiver) {
      for number in threads.removeValue(forKey: receiver.name)?.stop(timeout: 0) ?? [] {
        queues[receiver.name]?.giveBack(number, at: now.timestamp)
      }
      guard !new.receivers.contains(where: { $0.name == receiver.name }) else { continue }
      remove(receiver.name)
    }
    for receiver in new.receivers where !former.contains(receiver) {
      if queues[receiver.name] == nil {
        queues[receiver.name] = DeliveryQueue()
        counters.receivers[receiver.name] = .init()
      }
      start(receiver)
    }
    publishes = true
  }

  /// Removes a receiver. Its waiting messages are given up. If the receiver is configured again, `odograph
  /// alerts retry` sends them.
  private func remove(_ name: String) {
    let numbers = queues.removeValue(forKey: name)?.numbers ?? []
    counters.receivers[name] = nil
    for number in numbers {
      created[number] = nil
      refusedSince[number] = nil
      writes.gone.append((number, "receiver \(name) was removed"))
    }
    guard !numbers.isEmpty else { return }
    service.report("alerts: dropped \(numbers.count) messages to the removed receiver \(name)")
  }
}
