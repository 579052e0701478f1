/// Rules for topic names and filters (MQTT 5, section 4.7).
public enum MQTTTopic {
  /// Returns whether a name is valid for publishing: not empty, no wildcards, no zero byte, at most 65,535
  /// bytes.
  public static func isValidName(_ name: String) -> Bool {
    let bytes = name.utf8
    return (1...65_535).contains(bytes.count)
      && bytes.allSatisfy { $0 != 0 && $0 != UInt8(ascii: "+") && $0 != UInt8(ascii: "#") }
  }

  /// Returns whether a filter is valid: `+` must fill a whole level, `#` the last one; a shared filter is
  /// `$share/GROUP/FILTER`.
  public static func isValidFilter(_ filter: String) -> Bool {
    guard (1...65_535).contains(filter.utf8.count), !filter.utf8.contains(0) else { return false }
    var levels = filter.split(separator: "/", omittingEmptySubsequences: false)
    if levels.first == "$share" {
      guard levels.count >= 3, !levels[1].isEmpty, !levels[1].contains(where: { "+#".contains($0) }) else {
        return false
      }
      levels.removeFirst(2)
      if levels == [""] { return false }
    }
    for (index, level) in levels.enumerated() {
      if level.contains("#") && (level != "#" || index != levels.count - 1) { return false }
      if level.contains("+") && level != "+" { return false }
    }
    return true
  }

  /// Returns whether a filter matches a topic. Filters that start with a wildcard do not match topics that
  /// start with `$`; of a shared filter, the part after the group counts.
  public static func matches(filter: String, topic: String) -> Bool {
    var levels = filter.split(separator: "/", omittingEmptySubsequences: false)[...]
    if levels.first == "$share", levels.count >= 3 { levels = levels.dropFirst(2) }
    if topic.hasPrefix("$"), let first = levels.first, first == "+" || first == "#" { return false }
    var names = topic.split(separator: "/", omittingEmptySubsequences: false)[...]
    while let level = levels.popFirst() {
      if level == "#" { return true }
      guard let name = names.popFirst(), level == "+" || level == name else { return false }
    }
    return names.isEmpty
  }
}
