/// What `LocationManager` has to tell.
public enum LocationEvent: Hashable, Sendable {
  /// An update, after the distance filter.
  case location(Location)
  /// A significant change.
  case significantChange(Location)
  /// Deferred updates: every fix since the deferral began, in order; never empty. The end of the deferral follows.
  case batch([Location])
  /// A deferral is over: its distance or its time has passed (nil), or something came between.
  case deferredUpdatesFinished(DeferralError?)
  /// The answer to a one-shot request: the first location that was exact enough, or the best until its time was over.
  case requested(Location)
  /// Updates pause, because the device stands; with the location where it does, if that was not told yet.
  case paused(Location?)
  /// Updates go on.
  case resumed
  /// Something failed; told once, until something else does or a location comes.
  case failed(LocationFailure)
}
