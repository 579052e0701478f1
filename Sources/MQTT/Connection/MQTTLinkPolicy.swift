/// When a session keeps a connection.
public enum MQTTLinkPolicy: Hashable, Sendable {
  /// Always, as far as the network lets it.
  case standing
  /// Only for bursts, so that a modem sleeps in between: `MQTTSession.wakeUp()` opens the link, all that is
  /// due is carried, and after `linger` seconds without anything under way (time for commands to come in)
  /// the link is closed in good order, with the messages of `Handlers.farewell`. What `publishNow` is given
  /// between bursts is dropped.
  case bursts(linger: Double)
}
