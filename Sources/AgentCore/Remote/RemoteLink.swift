/// What remote management needs of the connection.
protocol RemoteLink: AnyObject, Sendable {
  /// Sends an answer, if there is a connection; whoever asked waits for it now and not for ever.
  func answer(_ answer: RemoteAnswer)

  /// Goes over to these settings, and leaves the present broker in good order.
  func reconnect(_ settings: AgentConfiguration.MQTT)
}
