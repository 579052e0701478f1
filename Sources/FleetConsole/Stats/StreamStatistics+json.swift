internal import Fleet
internal import JSON
internal import Telemetry

extension StreamStatistics {
  /// All counts as one JSON object. Delays are in seconds; what is not known is left out.
  /// - Parameter seconds: for which was counted.
  func json(seconds: Double) -> [UInt8] {
    JSONWriter.object { json in
      json.field("seconds", seconds, decimals: 3)
      json.field("messages", messages)
      json.field("bytes", bytes)
      json.field("retained", retained)
      json.field("messagesPerSecond", Double(messages - retained) / seconds, decimals: 3)
      json.field("missing", missing)
      json.field("late", late)
      json.field("duplicates", duplicates)
      json.field("unreadable", unreadable)
      json.field("foreign", foreign)
      json.field("withoutRoom", withoutRoom)
      json.field("delay") { json in
        json.field("median", delays.quantile(0.5), decimals: 4)
        json.field("p95", delays.quantile(0.95), decimals: 4)
        json.field("p99", delays.quantile(0.99), decimals: 4)
        json.field("longest", delays.count > 0 ? delays.longest : nil, decimals: 4)
      }
      json.field("kinds") { json in
        for kind in MessageKind.allCases {
          guard let count = byKind[kind] else { continue }
          json.key(kind.rawValue)
          json.value(count)
        }
      }
      json.key("vehicles")
      json.openArray()
      for vehicle in vehicles.sorted(by: { $0.key < $1.key }) { vehicle.write(to: &json, seconds: seconds) }
      json.closeArray()
    }
  }
}

extension VehicleStatistics {
  fileprivate func write(to json: inout JSONWriter, seconds: Double) {
    json.openObject()
    json.field("fleet", key.fleet)
    json.field("vehicle", key.vehicle)
    json.field("messages", messages)
    json.field("bytes", bytes)
    json.field("retained", retained)
    json.field("messagesPerSecond", Double(messages) / seconds, decimals: 3)
    json.field("bytesPerHour", Double(bytes) / seconds * 3600, decimals: 0)
    json.field("missing", missing)
    json.field("late", late)
    json.field("duplicates", duplicates)
    json.field("unreadable", unreadable)
    json.field("epochs", epochs)
    json.field("meanDelay", meanDelay, decimals: 4)
    json.field("longestDelay", delayCount > 0 ? longestDelay : nil, decimals: 4)
    json.closeObject()
  }
}
