internal import Fleet
package import JSON
package import Spatial

/// The texts of notifications and alerts for receivers.
package enum AlertText {
  /// Returns an alert's identifier in messages. It contains the store's epoch, because a new store starts
  /// again with number 1.
  package static func identifier(_ number: Int64, epoch: String) -> String { "\(epoch)-\(number)" }

  package static func key(_ item: Notice.Item, epoch: String) -> String {
    "\(identifier(item.alert.number, epoch: epoch)):\(item.transition.rawValue)"
  }

  /// Returns the idempotency key of a message: identifier and transition of its first alert, and the number
  /// of further alerts.
  static func key(_ notice: Notice, epoch: String) -> String {
    guard let first = notice.items.first else { return epoch }
    return key(first, epoch: epoch) + (notice.items.count > 1 ? "+\(notice.items.count - 1)" : "")
  }

  /// Writes the members of an alert into the JSON object that is open.
  /// - Parameters:
  ///   - alert: the alert.
  ///   - epoch: the epoch of the alert's store.
  ///   - silenced: the end of the silence that covers the alert; nil if there is none.
  ///   - json: the writer.
  package static func write(
    _ alert: Alert, epoch: String, silenced: UTCTime? = nil, to json: inout JSONWriter
  ) {
    json.field("id", identifier(alert.number, epoch: epoch))
    json.field("rule", alert.rule)
    json.field("fleet", alert.vehicle.fleet)
    json.field("vehicle", alert.vehicle.vehicle)
    json.field("severity", alert.severity.rawValue)
    json.field("summary", alert.summary)
    json.field("remedy", alert.remedy)
    json.field("began", alert.began.rfc3339)
    json.field("ended", alert.ended?.rfc3339)
    json.field("noticed", alert.noticed?.rfc3339)
    json.field("reason", alert.reason?.rawValue)
    if let place = alert.place {
      json.field("place") { json in
        json.field("latitude", place.latitude, decimals: 7)
        json.field("longitude", place.longitude, decimals: 7)
      }
    }
    json.field("silenced", silenced?.rfc3339)
    json.field("value", alert.value, decimals: 3)
  }

  /// Returns the JSON body of a webhook request.
  package static func body(_ notice: Notice, severity: Severity, epoch: String) -> [UInt8] {
    JSONWriter.object { json in
      json.field("version", 1)
      json.field("key", key(notice, epoch: epoch))
      json.field("rule", notice.rule)
      json.field("severity", severity.rawValue)
      json.field("summary", subject(notice))
      json.field("count", notice.items.count)
      json.field("alerts", objects: notice.items) { json, item in
        json.field("key", key(item, epoch: epoch))
        json.field("transition", item.transition.rawValue)
        write(item.alert, epoch: epoch, to: &json)
      }
    }
  }

  /// Returns the subject line of a message.
  package static func subject(_ notice: Notice) -> String {
    guard let first = notice.items.first else { return notice.rule }
    if notice.items.count == 1 { return line(first) }
    let (begun, ended) = (
      notice.items.count { $0.transition != .ended }, notice.items.count { $0.transition == .ended }
    )
    let vehicles = Set(notice.items.map(\.alert.vehicle)).count
    let parts = [begun > 0 ? "\(begun) began" : nil, ended > 0 ? "\(ended) ended" : nil].compactMap { $0 }
    return
      "\(notice.rule): \(parts.joined(separator: ", ")), \(vehicles) \(vehicles == 1 ? "vehicle" : "vehicles")"
  }

  package static func line(_ item: Notice.Item) -> String {
    let reason = item.alert.reason.map { ": \($0.words)" } ?? ""
    let end = item.transition == .ended ? ", ended\(reason)" : ""
    return singleLine("\(item.alert.rule): \(item.alert.vehicle): \(item.alert.summary)\(end)\(delay(item))")
  }

  /// The time in s from a transition to its notice above which a text states it.
  private static let shortDelay = 60.0

  /// Returns the delay of a transition that the service noticed late, as in ", noticed 2 h later"; otherwise an
  /// empty text.
  private static func delay(_ item: Notice.Item) -> String {
    let time = item.transition == .ended ? item.alert.ended ?? item.alert.began : item.alert.began
    guard let delay = item.alert.noticed?.seconds(since: time), delay > shortDelay else { return "" }
    return ", noticed \(QuantityText.age(delay)) later"
  }

  /// Replaces line breaks by spaces. Texts come from the network and can contain some, but each alert in a mail
  /// must be one line.
  private static func singleLine(_ text: String) -> String {
    String(text.map { $0.isNewline ? " " : $0 })
  }

  /// The maximum number of alerts that a mail lists.
  private static let lineLimit = 500

  /// Returns the text of a mail: the subject, and a line for each alert.
  static func letter(_ notice: Notice, epoch: String) -> [UInt8] {
    var text = "\(subject(notice))\n\n"
    for item in notice.items.prefix(lineLimit) {
      let alert = item.alert
      let time = item.transition == .ended ? alert.ended ?? alert.began : alert.began
      text += "\(time.rfc3339)  \(line(item))"
      if let remedy = alert.remedy { text += "; remedy: \(singleLine(remedy))" }
      if let place = alert.place { text += "  (\(place.latitude), \(place.longitude))" }
      text += "  [\(key(item, epoch: epoch))]\n"
    }
    if notice.items.count > lineLimit { text += "and \(notice.items.count - lineLimit) more\n" }
    return Array(text.utf8)
  }

  /// Returns the content of the message that `odograph alerts test` sends; it is marked as a test.
  package static func test(_ key: String, at time: UTCTime) -> (
    subject: String, json: [UInt8], letter: [UInt8]
  ) {
    let subject = "test: this is a test message of odograph's alerts"
    let json = JSONWriter.object { json in
      json.field("version", 1)
      json.field("key", key)
      json.field("test", true)
      json.field("severity", Severity.info.rawValue)
      json.field("summary", subject)
      json.field("time", time.rfc3339)
      json.field("count", 0)
      json.field("alerts", texts: [])
    }
    return (subject, json, Array("\(subject)\n\n\(time.rfc3339)\n".utf8))
  }
}
