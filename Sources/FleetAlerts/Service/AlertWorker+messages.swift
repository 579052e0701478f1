internal import Fleet
internal import Platform
internal import SQLite
internal import Spatial

/// Outgoing messages: creating, storing, sending and giving up messages.
extension AlertWorker {
  /// Creates the messages about alerts that are due, one for each receiver.
  func compose(_ notice: Notice, at now: Moment) {
    writes.told += notice.items
    let current = engine.rules[notice.rule].map { settings.receivers(of: $0).map(\.name) }
    for item in notice.items where item.transition != .ended {
      if let current { address(item.alert.number, to: current) }
    }
    for receiver in settings.receivers {
      let part = Notice(
        rule: notice.rule, items: notice.items.filter { isTold(receiver.name, of: $0, current) })
      guard let severity = part.items.map(\.alert.severity).max() else { continue }
      let body: [UInt8] =
        switch receiver.way {
        case .webhook: AlertText.body(part, severity: severity, epoch: store.epoch)
        case .mail: AlertText.letter(part, epoch: store.epoch)
        }
      let message = AlertMessage(
        number: nextMessage, receiver: receiver.name, key: AlertText.key(part, epoch: store.epoch),
        created: now.time, subject: "\(severity.rawValue): \(AlertText.subject(part))", body: body,
        vehicles: Array(Set(part.items.map(\.alert.vehicle))))
      nextMessage += 1
      writes.messages.append(message)
      unwritten.append(message)
    }
  }

  func address(_ number: Int64, to names: [String]) {
    guard addressees[number] != names else { return }
    addressees[number] = names
    writes.receivers[number] = names
  }

  /// Returns whether a receiver is notified of an alert's transition. The end of an alert is reported to the
  /// receivers that were notified of its start. If none of these exists any more, for example after a rename,
  /// it is reported to the rule's receivers.
  /// - Parameter current: the receivers of the rule; nil if the rule does not exist any more.
  private func isTold(_ receiver: String, of item: Notice.Item, _ current: [String]?) -> Bool {
    let told = addressees[item.alert.number]
    guard item.transition == .ended else { return (current ?? told)?.contains(receiver) ?? true }
    guard let told else { return current?.contains(receiver) ?? true }
    if told.isEmpty || told.contains(where: { queues[$0] != nil }) { return told.contains(receiver) }
    return current?.contains(receiver) ?? false
  }

  func take(_ result: ReceiverThreads.Result, at now: Moment) {
    let number = result.number
    publishes = true
    switch result.outcome {
    case .taken(_, let refused):
      if let refused, isComplaintDue(about: result.receiver, at: now) {
        service.report(
          "alerts: the mail server of \(result.receiver) rejected recipients, who do not get the mail: \(refused)"
        )
      }
      queues[result.receiver]?.remove(number, wasTaken: true, at: now.timestamp)
      created[number] = nil
      refusedSince[number] = nil
      writes.taken.append(number)
      counters.receivers[result.receiver]?.taken += 1
      if counters.receivers[result.receiver]?.failure != nil {
        counters.receivers[result.receiver]?.failure = nil
      }
    case .failed(let failure, let after, let isRefusal):
      if !isRefusal { refusedSince[number] = nil }
      if isRefusal,
        now.timestamp.seconds(since: refusedSince[number] ?? now.timestamp) >= settings.refusalTimeout
      {
        refusedSince[number] = nil
        created[number] = nil
        queues[result.receiver]?.remove(number, wasTaken: false, at: now.timestamp)
        writes.gone.append((number, failure))
        counters.receivers[result.receiver]?.gone += 1
        service.report(
          "alerts: dropped a message that receiver \(result.receiver) rejected: \(failure); odograph alerts retry sends it again"
        )
        return
      }
      if isRefusal, refusedSince[number] == nil { refusedSince[number] = now.timestamp }
      queues[result.receiver]?.fail(number, after: after, at: now.timestamp, using: &generator)
      writes.failed.append((number, failure))
      counters.receivers[result.receiver]?.failed += 1
      if isComplaintDue(about: result.receiver, at: now) {
        service.report("alerts: \(result.receiver) did not accept a message; retrying: \(failure)")
      }
      counters.receivers[result.receiver]?.failure = failure
    case .left: queues[result.receiver]?.giveBack(number, at: now.timestamp)
    }
  }

  /// Returns whether a problem of a receiver may be logged now, and records that it is.
  private func isComplaintDue(about receiver: String, at now: Moment) -> Bool {
    if let next = nextComplaint[receiver], next > now.timestamp { return false }
    nextComplaint[receiver] = now.timestamp.advanced(bySeconds: Self.complaints)
    return true
  }

  /// Gives up messages that could not be sent for too long, and reports this to the operator. They remain in
  /// the store for a retry.
  func giveUp(_ now: Moment) {
    guard nextTidying <= now.timestamp else { return }
    nextTidying = now.timestamp.advanced(bySeconds: min(60, max(1, settings.giveUpAfter / 10)))
    writes.forgottenBefore = now.time.advanced(bySeconds: -settings.keep)
    forgetAddressees()
    let oldest = now.timestamp.advanced(bySeconds: -settings.giveUpAfter)
    let old = created.filter { $0.value < oldest }.keys.sorted()
    for (name, queue) in queues {
      let gone = old.filter { queue.contains($0) && !queue.underWay.contains($0) }
      guard !gone.isEmpty else { continue }
      for number in gone {
        created[number] = nil
        refusedSince[number] = nil
        queues[name]?.remove(number, wasTaken: false, at: now.timestamp)
        writes.gone.append((number, counters.receivers[name]?.failure ?? "it expired"))
      }
      counters.receivers[name]?.gone += gone.count
      publishes = true
      service.report(
        "alerts: dropped \(gone.count) messages to \(name): \(counters.receivers[name]?.failure ?? "they expired"); "
          + "odograph alerts retry sends them again")
    }
  }

  /// Forgets the receivers of alerts that have ended and are completely reported.
  private func forgetAddressees() {
    let gathered = Set(plan.gathered.flatMap { $0.items.map(\.alert.number) })
    addressees = addressees.filter { number, _ in
      engine.open[number] != nil || plan.held[number] != nil || gathered.contains(number)
    }
  }

  /// Adds messages of the store to the queues, unless they are in a queue already.
  func resumeMessages(at now: Moment) throws(SQLiteError) {
    // The outcome of these messages is not stored yet, so they are still in the store.
    let settled = Set(writes.taken).union(writes.gone.map(\.0))
    for (receiver, entry, time) in try store.waiting()
    where created[entry.number] == nil && !settled.contains(entry.number) {
      guard queues[receiver] != nil else {
        writes.gone.append((entry.number, "receiver \(receiver) was removed"))
        continue
      }
      queues[receiver]?.add(entry, at: now.timestamp)
      created[entry.number] = now.timestamp.advanced(bySeconds: -max(0, now.time.seconds(since: time)))
    }
  }

  /// Stores all pending writes in one transaction.
  ///
  /// - Returns: true if everything is stored. Otherwise it is retried, and until then no message is sent.
  func commit(_ now: Moment) -> Bool {
    guard !writes.isEmpty else { return true }
    do throws(SQLiteError) {
      try store.write(writes, at: now)
    } catch {
      if counters.storeProblem == nil {
        service.report("alerts: notifications are paused, because they cannot be stored: \(error)")
      }
      service.inbox.update { $0.isStuck = true }
      counters.storeProblem = error.description
      publishes = true
      return false
    }
    writes = AlertWrites()
    if counters.storeProblem != nil {
      counters.storeProblem = nil
      publishes = true
      service.inbox.update { $0.isStuck = false }
      service.report("alerts: notifications can be stored again, and resume")
    }
    var overflow: [String: Int] = [:]
    for message in unwritten {
      if queues[message.receiver]?.count ?? 0 >= Self.queueLimit {
        writes.gone.append((message.number, "more than \(Self.queueLimit) messages wait"))
        counters.receivers[message.receiver]?.gone += 1
        overflow[message.receiver, default: 0] += 1
        continue
      }
      created[message.number] = now.timestamp
      queues[message.receiver]?.add(
        .init(number: message.number, vehicles: message.vehicles), at: now.timestamp)
    }
    unwritten = []
    for (name, count) in overflow.sorted(by: { $0.key < $1.key }) {
      service.report(
        "alerts: dropped \(count) messages to \(name), because more than \(Self.queueLimit) wait; odograph alerts retry sends them again"
      )
    }
    return true
  }

  func handOut(_ now: Moment) {
    for receiver in settings.receivers {
      guard let threads = threads[receiver.name] else { continue }
      while queues[receiver.name]?.underWay.count ?? 0 < threads.capacity,
        let number = queues[receiver.name]?.next(at: now.timestamp)
      {
        do throws(SQLiteError) {
          guard let message = try store.message(number) else {
            queues[receiver.name]?.remove(number, wasTaken: false, at: now.timestamp)
            created[number] = nil
            continue
          }
          threads.give(message)
        } catch {
          queues[receiver.name]?.fail(number, after: nil, at: now.timestamp, using: &generator)
          service.report("alerts: a message cannot be read: \(error)")
        }
      }
    }
  }
}
