/// When a session keeps a connection.
public enum MQTTLinkPolicy: Hashable, Sendable {
  /// Always, as far as the network lets it.
  case standing
  /// Only for bursts, so that a modem sleeps in between: `MQTTSession.wakeUp()` opens the link, and so does the end of
  /// `interval` seconds since it was last opened (nil: nothing else does). All that is due is carried, and after `linger`
  /// seconds without anything under way (time for commands to come in) the link is closed in good order, with the
  /// messages of `Handlers.farewell`. Values of `publishNow` keep no link open, and are dropped between bursts.
  case bursts(linger: Double, interval: Double? = nil)
}
