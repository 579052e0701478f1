internal import MQTT
internal import Spatial
internal import Telemetry

extension AgentConfiguration.OwnTracks {
  /// What the broker publishes when a connection that is made now ends without a word.
  /// - Parameter time: nanoseconds since 1970.
  func will(at time: Int64) -> MQTTMessage? {
    topics.map {
      MQTTMessage(
        topic: $0.base, payload: OwnTracksStatus.lastWill(at: UTCTime(nanoseconds: time)), qos: .atLeastOnce,
        properties: MQTTMessageProperties(contentType: WireMessage.contentType))
    }
  }
}
