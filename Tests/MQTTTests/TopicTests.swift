import MQTT
import Testing

@Suite struct TopicTests {
  @Test(arguments: [
    ("a/b", "a/b", true), ("a/+", "a/b", true), ("a/+", "a/b/c", false), ("a/#", "a", true),
    ("a/#", "a/b/c", true),
    ("#", "a/b", true), ("#", "$SYS/x", false), ("+/x", "$SYS/x", false), ("$SYS/#", "$SYS/x", true),
    ("+/+", "/a", true), ("+", "a/", false), ("a//b", "a//b", true), ("$share/g/a/#", "a/b", true),
    ("a", "a/b", false), ("a/b", "a", false),
  ])
  func matching(filter: String, topic: String, matches: Bool) {
    #expect(MQTTTopic.matches(filter: filter, topic: topic) == matches)
  }

  @Test(arguments: [
    ("a", true), ("#", true), ("+", true), ("a/#", true), ("a/#/b", false), ("a#", false), ("a/b+", false),
    ("", false),
    ("$share/g/a", true), ("$share/g", false), ("$share//a", false), ("$share/g+/a", false),
    ("$share/g/", false),
    ("/", true), ("a\u{0}", false),
  ])
  func filters(filter: String, isValid: Bool) {
    #expect(MQTTTopic.isValidFilter(filter) == isValid)
  }

  @Test(arguments: [
    ("a/b", true), ("", false), ("a/+", false), ("a/#", false), ("/", true), ("a\u{0}b", false),
  ])
  func names(name: String, isValid: Bool) {
    #expect(MQTTTopic.isValidName(name) == isValid)
  }
}
