extension MQTTConfiguration {
  /// Checks every bound that this page states.
  /// - Throws: `MQTTError` naming the setting and what it accepts.
  public func validate() throws(MQTTError) {
    try check(!brokers.isEmpty, "brokers", "none is given; name at least one host and port")
    for broker in brokers {
      try check(!broker.host.isEmpty, "broker \(broker)", "the host is empty")
      try check((1...65_535).contains(broker.port), "broker \(broker)", "the port has to be 1...65535")
    }
    try check((1...65_535).contains(clientID.utf8.count), "clientID", "it has to be 1...65535 bytes")
    try check(!clientID.utf8.contains(0), "clientID", "it contains a zero byte")
    try check((5...65_535).contains(keepAlive), "keepAlive", "\(keepAlive) s is outside 5...65535")
    try check(receiveMaximum > 0, "receiveMaximum", "it has to be 1...65535")
    try check((1...1000).contains(publishWindow), "publishWindow", "\(publishWindow) is outside 1...1000")
    try check((1...300).contains(connectTimeout), "connectTimeout", "\(connectTimeout) s is outside 1...300")
    try check(backoffBase > 0, "backoffBase", "it has to be above 0 s")
    try check(backoffLimit >= backoffBase, "backoffLimit", "it is below backoffBase")
    if case .bursts(let linger, let interval) = linkPolicy {
      try check((0...3600).contains(linger), "linkPolicy", "a linger of \(linger) s is outside 0...3600")
      try check((interval ?? 1) > 0, "linkPolicy", "an interval has to be above 0 s")
    }
    try check(password == nil || userName != nil, "password", "3.1.1 forbids one without a user name")
    if let will {
      try check(MQTTTopic.isValidName(will.topic), "will", "\"\(will.topic)\" is not a topic name")
      try check(will.payload.count <= 65_535, "will", "its payload is above 65535 bytes")
    }
  }

  private func check(_ holds: Bool, _ setting: String, _ cause: String) throws(MQTTError) {
    if !holds { throw MQTTError(operation: "configure", object: setting, cause: cause) }
  }
}
