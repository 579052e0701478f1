public import Spatial

extension LocationManager {
  /// Asks for one location. It is told as `requested` when one is exact enough, or else the best that was seen when the
  /// time is over; without any location the request fails.
  ///
  /// - Parameters:
  ///   - accuracy: metres at 68 %.
  ///   - timeLimit: seconds.
  ///   - now: when it is asked.
  public mutating func requestLocation(accuracy: Double, timeLimit: Double, at now: Timestamp) {
    requests.append(OneShotRequest(accuracy: accuracy, start: now, timeLimit: max(0, timeLimit)))
  }

  /// Defers updates: fixes are collected and told as one ordered `batch` when the device has travelled so far or so much
  /// time has passed, whichever comes first. `deferredUpdatesFinished` follows; then updates are told one by one again,
  /// until the next call.
  ///
  /// It needs updates that were started and are not paused, a desired accuracy of `best` or `bestForNavigation`, and no
  /// distance filter; when one of these is lost on the way, the deferral ends with the error, after its batch. A newer
  /// call cancels the one before, whose fixes are told first.
  ///
  /// - Parameters:
  ///   - distance: metres from where the device is; nil for no limit.
  ///   - timeout: seconds; nil for no limit.
  ///   - now: when it is asked.
  public mutating func allowDeferredLocationUpdates(
    untilTraveled distance: Double?, timeout: Double?, at now: Timestamp
  ) -> [LocationEvent] {
    let events = endDeferral(.cancelled)
    if let error = deferralViolation ?? (failure == nil ? nil : .failed) {
      return events + [.deferredUpdatesFinished(error)]
    }
    deferral = DeferredUpdates(
      untilTraveled: distance ?? .infinity, timeout: timeout ?? .infinity, from: location, at: now)
    return events
  }

  /// Ends a deferral before its time; its fixes are told.
  public mutating func disallowDeferredLocationUpdates() -> [LocationEvent] { endDeferral(.cancelled) }

  /// Whether fixes are being collected.
  public var isDeferring: Bool { deferral != nil }

  /// Why updates cannot be deferred as things are; nil when they can.
  var deferralViolation: DeferralError? {
    if !isUpdating || isPaused { return .notUpdating }
    if desiredAccuracy != .best, desiredAccuracy != .bestForNavigation { return .accuracyTooLow }
    return distanceFilter == nil ? nil : .distanceFiltered
  }

  mutating func endDeferral(_ error: DeferralError?) -> [LocationEvent] {
    guard let ended = deferral else { return [] }
    deferral = nil
    noteTold(ended.fixes.last)
    let batch: [LocationEvent] = ended.fixes.isEmpty ? [] : [.batch(ended.fixes)]
    return batch + [.deferredUpdatesFinished(error)]
  }

  mutating func answerRequests(with location: Location) -> [LocationEvent] {
    var events: [LocationEvent] = []
    for index in requests.indices.reversed() {
      guard let answer = requests[index].take(location) else { continue }
      events.append(.requested(answer))
      requests.remove(at: index)
    }
    return events
  }

  /// Ends what has a deadline that has come.
  mutating func expire(_ isOver: (Timestamp) -> Bool) -> [LocationEvent] {
    var events: [LocationEvent] = []
    for request in requests where isOver(request.deadline) {
      events.append(
        request.best.map { .requested($0) } ?? .failed(.requestTimedOut(seconds: request.timeLimit)))
    }
    if !events.isEmpty { requests.removeAll { isOver($0.deadline) } }
    if let deadline = deferral?.deadline, isOver(deadline) { events += endDeferral(deferralViolation) }
    return events
  }
}
