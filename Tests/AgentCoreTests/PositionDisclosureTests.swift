import AgentCore
import StoreAndForward
import Telemetry
import TestSupport
import Testing

/// Changes of the settings that decide which positions may be published, at a start and while the agent runs.
@Suite struct PositionDisclosureTests {
  private static let home = #"privacy.zones=["48.2,11.5,500"]"#
  private static let both = #"privacy.zones=["48.2,11.5,500", "48.3,11.5,500"]"#

  private func disclosure(_ settings: [String]) throws -> PositionDisclosure {
    PositionDisclosure(
      try AgentConfiguration(settings: ["vehicle.id=v", "mqtt.broker=127.0.0.1"] + settings))
  }

  /// A series of settings. For each, true if it deletes the retained position.
  struct Row: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var steps: [(settings: [String], isDeleted: Bool)]
  }

  @Test(arguments: [
    Row(testDescription: "first start", steps: [([home], false), ([home], false)]),
    Row(
      testDescription: "other settings",
      steps: [([], false), (["status.interval=7", "location.error_bound=77"], false)]),
    Row(
      testDescription: "locations",
      steps: [
        ([], false), (["location.enabled=false"], true), ([], false), (["location.enabled=false"], true),
      ]),
    Row(
      testDescription: "reduced accuracy",
      steps: [
        ([], false), (["location.desired_accuracy=kilometer"], false),
        (["location.desired_accuracy=reduced"], true), (["location.desired_accuracy=reduced"], false),
        ([], false),
      ]),
    Row(
      testDescription: "cells",
      steps: [
        (["privacy.accuracy=500"], false), (["privacy.accuracy=1000"], true),
        (["privacy.accuracy=100"], false),
        ([], false), (["privacy.accuracy=100"], true),
      ]),
    Row(
      testDescription: "zones",
      steps: [
        ([home], false), ([both], true), ([home], false), ([], false), ([home], true),
        // A zone with another size or treatment is another zone.
        ([#"privacy.zones=["48.2,11.5,400"]"#], true), ([#"privacy.zones=["48.2,11.5,400,blur"]"#], true),
      ]),
    Row(
      testDescription: "stricter and looser", steps: [([home], false), (["privacy.accuracy=100"], true)]),
  ])
  func stricterSettingsDeleteTheRetainedPosition(row: Row) throws {
    let directory = try TemporaryDirectory()
    let outbox = try Outbox(path: directory.file("outbox.sqlite"))
    let topics = try TopicScheme(fleet: "f", vehicle: "v")
    let formats = MessageFormats(topics: topics)
    for (index, step) in row.steps.enumerated() {
      let change = try disclosure(step.settings).change(from: outbox, formats)
      #expect(
        change.publications.map(\.topic) == (step.isDeleted ? [topics.topic(.location)] : []), "step \(index)"
      )
      for document in change.documents { _ = outbox.preserve(document) }
      // The change is complete, whether the agent continues or starts again.
      let again = try disclosure(step.settings).change(from: outbox, formats)
      #expect(again.publications.isEmpty && again.documents.isEmpty)
    }
  }

  /// Settings that an earlier version has stored in another form may have been looser.
  @Test func unreadableSettingsDeleteTheRetainedPosition() throws {
    let directory = try TemporaryDirectory()
    let outbox = try Outbox(path: directory.file("outbox.sqlite"))
    let formats = MessageFormats(topics: try TopicScheme(fleet: "f", vehicle: "v"))
    _ = outbox.preserve(PreservedDocument(name: "position settings", bytes: Array("af63bd4c8601b7df".utf8)))
    let change = try disclosure([]).change(from: outbox, formats)
    #expect(change.publications.count == 1 && change.documents.count == 1)
    // The store contains no position of a zone.
    let hidden = try disclosure([Self.home]).change(from: outbox, formats).documents
    #expect(hidden.allSatisfy { !String(decoding: $0.bytes, as: UTF8.self).contains("48.2") })
  }
}
