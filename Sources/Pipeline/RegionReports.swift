internal import Positioning
internal import Sensors
internal import Spatial
internal import Telemetry

/// The regions' part of the pipeline: creates `region` and `regions/state` messages from positions.
struct RegionReports: PipelinePart {
  /// The monitored regions with their states.
  var monitor = RegionMonitor()
  /// Where the regions come from, for `regions/state`.
  var source: RegionsStateMessage.Source?
  private var reporter = RegionReporter()
  /// Revision of the regions when undecided ones were last evaluated with the newest position.
  private var evaluatedRevision: Int?
  /// Time until which the receiver is powered because a region is undecided; nil if the receiver is not
  /// powered for this reason.
  private var searchEnd: Timestamp?

  mutating func reconfigure(from old: PipelineConfiguration, _ context: inout PipelineContext) {
    evaluatedRevision = nil
    let new = context.configuration
    let wasReduced = old.location.desiredAccuracy == .reduced
    let isDisabled = old.location.isEnabled && !new.location.isEnabled
    if isDisabled || (context.isReduced && !wasReduced) {
      // States decided by exact positions reveal more than a cell, and a cell cannot end most of them.
      monitor.forgetStates()
    } else if new.privacy != old.privacy || context.isReduced != wasReduced {
      monitor.forgetPositions()
    }
  }

  mutating func process(_ location: inout Location, _ context: inout PipelineContext) {
    if location.suspicion == nil, let shown = context.shown(location) {
      publish(monitor.process(shown.location.forRegions), from: shown, &context)
    } else {
      monitor.interrupt()
    }
  }

  mutating func advance(to timestamp: Timestamp, _ context: inout PipelineContext) {
    evaluate(&context)
    if let deadline = monitor.nextDeadline, timestamp >= deadline {
      publish(monitor.advance(to: timestamp), &context)
    }
    if context.speedLimits?.revision != monitor.revision {
      // A cell of reduced accuracy does not tell in which of the regions with a limit the vehicle is.
      context.speedLimits = (monitor.revision, context.isReduced ? [] : monitor.speedLimits)
    }
  }

  func nextDeadline(_ context: PipelineContext) -> Timestamp? {
    [monitor.nextDeadline, searchEnd, reporter.nextDeadline].compactMap { $0 }.min()
  }

  /// Publishes `regions/state` if it is due.
  mutating func publishStates(_ context: inout PipelineContext) {
    reporter.observe(monitor, at: context.now)
    let time = context.timeBase.utc(at: context.now)
    if let message = reporter.due(monitor, source: source, at: context.now, utc: time) {
      context.send(.regionsState(message))
    }
  }

  mutating func publishPending(_ context: inout PipelineContext) {
    reporter.observe(monitor, at: context.now)
    let time = context.timeBase.utc(at: context.now)
    if let message = reporter.pending(monitor, source: source, at: context.now, utc: time) {
      context.send(.regionsState(message))
    }
  }

  func add(to needs: inout PowerNeeds, _ context: PipelineContext) {
    if let searchEnd, needs.location.isWanted {
      let other = needs.location.request
      needs.location.request = LocationNeeds.Request(
        accuracy: other?.accuracy ?? needs.location.standingAccuracy,
        deadline: max(searchEnd, other?.deadline ?? searchEnd))
    }
    // If navigation or radios provide positions, region boundaries are monitored without a GNSS fix.
    let isByReceiver = needs.carried == nil && context.lastPlace?.positionSource != .coarse
    guard let place = isByReceiver ? context.lastSeen : context.lastPlace ?? context.lastSeen else { return }
    needs.distanceToBoundary = monitor.distanceToNearestBoundary(from: place.coordinate)
    guard !context.isReduced else { return }
    let mobility = Mobility(context.configuration.location.activity)
    needs.boundaryAccuracy = monitor.desiredAccuracy(
      near: place.coordinate,
      within: mobility.metersCovered(
        in: PowerPlanner.approachTime, startingAt: place.speed ?? mobility.topSpeed))
  }

  /// Decides undecided regions by the last valid position, and schedules `regions/state`. If no valid
  /// position decides them, the receiver is powered for a limited time.
  mutating func requestStates(_ context: inout PipelineContext) {
    decide(&context)
    if monitor.hasUndecided, !context.isPositionConfirmed { search(&context) }
    reporter.requestNow(at: context.now)
  }

  /// Resets all region states, and decides them by the last valid position.
  mutating func resetStates(_ context: inout PipelineContext) {
    monitor.forgetStates()
    evaluate(&context)
  }

  /// Decides undecided regions by the last valid position, once after each change of the regions. If that
  /// position does not decide all regions, the receiver is powered for a limited time.
  private mutating func evaluate(_ context: inout PipelineContext) {
    if monitor.hasUndecided, monitor.revision != evaluatedRevision {
      decide(&context)
      if monitor.hasUndecided { search(&context) }
    }
    if let end = searchEnd, end <= context.now || !monitor.hasUndecided {
      searchEnd = nil
      context.isPlanOutdated = true
    }
  }

  private mutating func decide(_ context: inout PipelineContext) {
    if let place = placeNow(context) { publish(monitor.evaluateUndecided(at: place), &context) }
    evaluatedRevision = monitor.revision
  }

  private mutating func search(_ context: inout PipelineContext) {
    guard context.configuration.location.isEnabled, !context.isWithholding else { return }
    searchEnd = context.now.advanced(bySeconds: PowerPlanner.searchLimit)
    context.isPlanOutdated = true
  }

  /// Returns the newest position that may be published, as valid for the current time. Unless rest confirms the
  /// position, the distance that the vehicle may have moved since is added to its accuracy. Nil without a
  /// position, and while positions are private.
  private func placeNow(_ context: PipelineContext) -> Location? {
    guard context.configuration.location.isEnabled, let newest = context.lastPlace, newest.suspicion == nil,
      !context.isWithholding,
      var place = context.shown(newest)?.location.forRegions
    else { return nil }
    if !context.isPositionConfirmed {
      let mobility = Mobility(context.configuration.location.activity)
      let age = max(0, context.now.seconds(since: place.timestamp))
      let accuracy = place.horizontalAccuracy ?? monitor.settings.unknownAccuracy
      place.horizontalAccuracy =
        accuracy + mobility.metersCovered(in: age, startingAt: place.speed ?? mobility.topSpeed)
    }
    (place.timestamp, place.time) = (context.now, context.timeBase.utc(at: context.now))
    return place
  }

  /// - Parameter shown: the last of the locations that show the events; nil if the events have the position of an earlier
  ///   location.
  private func publish(
    _ events: [RegionEvent], from shown: ShownLocation? = nil, _ context: inout PipelineContext
  ) {
    for event in events {
      let time = event.time ?? context.timeBase.utc(at: event.timestamp)
      let place =
        shown?.interpolated(event.coordinate) ?? context.configuration.shown(stored: event.coordinate)
      context.send(.region(RegionMessage(time: time, event: event, at: place)))
    }
  }
}
