internal import Fleet
package import FleetProgram
internal import Spatial
internal import Telemetry

/// The details of trips and driving events.
extension DetailPane {
  package var trip: [StyledText] {
    guard let trip = record.trip?.message else { return [] }
    let isOver = trip.phase == .ended
    var parts = ["\(trip.trip.number) \(trip.kind.name)"]
    parts.append(
      isOver
        ? "ended \(QuantityText.age(max(0, now.time.seconds(since: trip.end.time)))) ago"
        : "begun \(QuantityText.age(max(0, now.time.seconds(since: trip.start.time)))) ago")
    parts.append(QuantityText.distance(trip.distance))
    parts.append(QuantityText.age(trip.end.time.seconds(since: trip.start.time)))
    if let speed = trip.meanSpeed { parts.append("mean \(QuantityText.speed(speed))") }
    let events = trip.events.values.reduce(0) { $0.addingReportingOverflow($1).partialValue }
    if events > 0 { parts.append("\(events) events") }
    parts += [trip.driver, trip.purpose].compactMap(\.self).map { String($0.prefix(80)) }
    return parts.map { StyledText($0, style: isOver ? .dim : .plain) }
  }

  package var driving: [StyledText] {
    guard let event = record.drivingEvent?.message else { return [] }
    let style: TextStyle = event.isOngoing || event.severity == .high ? TextStyle(.yellow) : .plain
    var parts = [StyledText(String(event.event.name.prefix(80)), style: style)]
    parts.append(StyledText(event.severity.rawValue))
    if event.isOngoing { parts.append(StyledText("goes on", style: style)) }
    if let duration = event.duration { parts.append(StyledText("for \(QuantityText.age(duration))")) }
    if let speed = event.speed { parts.append(StyledText("at \(QuantityText.speed(speed))")) }
    if let region = event.region { parts.append(StyledText("in \(String(region.prefix(80)))")) }
    let age = QuantityText.age(max(0, now.time.seconds(since: event.time)))
    return parts + [StyledText("\(age) ago", style: .dim)]
  }
}
