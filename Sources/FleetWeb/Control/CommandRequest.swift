internal import Fleet
internal import FleetManagement
internal import JSON
internal import Spatial
internal import Telemetry

extension CommandRequest {
  func write(to json: inout JSONWriter, at now: UTCTime) {
    json.openObject()
    json.field("request", id)
    json.field("fleet", vehicle.fleet)
    json.field("vehicle", vehicle.vehicle)
    json.field("command", command)
    json.key("arguments")
    json.value(.object(arguments))
    json.field("by", by)
    json.field("asked", asked.rfc3339)
    json.field("state", state(at: now).rawValue)
    json.field("problem", answer?.problem ?? brokerRefusal)
    if let result = answer?.result {
      json.key("result")
      json.value(result)
    }
    json.field("answered", answered?.rfc3339)
    if answer == nil { json.field("expires", expires.rfc3339) }
    json.closeObject()
  }
}
