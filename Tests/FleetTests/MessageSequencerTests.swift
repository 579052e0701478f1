import Fleet
import MQTT
import Sensors
import TestSupport
import Testing

@Suite struct MessageSequencerTests {
  private func message(_ vehicle: String, _ epoch: String, _ seq: Int, kind: String = "location")
    -> MQTTMessage
  {
    MQTTMessage(topic: "odograph/v1/demo/\(vehicle)/\(kind)", text: #"{"epoch":"\#(epoch)","seq":\#(seq)}"#)
  }

  @Test func messagesPassOnceAndInOrder() {
    var sequencer = MessageSequencer()
    let first = sequencer.filter([message("a", "e", 2), message("b", "f", 9), message("a", "e", 1)])
    #expect(first == [message("a", "e", 1), message("b", "f", 9), message("a", "e", 2)])
    #expect(sequencer.filter([message("a", "e", 2), message("a", "e", 1)]).isEmpty)
    #expect(sequencer.duplicates == 2)
  }

  @Test func numbersArePerVehicleAndEpoch() {
    var sequencer = MessageSequencer()
    let all = [message("a", "e", 1), message("b", "e", 1), message("a", "g", 1)]
    #expect(sequencer.filter(all) == all)
    // All kinds of messages of a vehicle share their numbers.
    #expect(sequencer.filter([message("a", "e", 1, kind: "region")]).isEmpty)
  }

  @Test func messagesWithoutNumbersPass() {
    var sequencer = MessageSequencer()
    let plain = MQTTMessage(topic: "sensors/x", text: "21.5")
    #expect(sequencer.filter([plain, plain]) == [plain, plain])
    #expect(sequencer.filter([plain]) == [plain])
  }

  @Test func numbersBehaveAsASet() {
    var random = SplitMix.announced()
    for _ in 0..<200 {
      var numbers = SeenNumbers()
      var set: Set<Int64> = []
      for _ in 0..<200 {
        let number = Int64.random(in: 0...100, using: &random)
        #expect(numbers.insert(number) == set.insert(number).inserted)
      }
      // Adjacent ranges are merged, so that their number is minimal.
      #expect(
        zip(numbers.ranges, numbers.ranges.dropFirst()).allSatisfy { $0.upperBound + 1 < $1.lowerBound })
      #expect(numbers.ranges.reduce(0) { $0 + $1.count } == set.count)
    }
    var ends = SeenNumbers()
    #expect(ends.insert(.max) && ends.insert(.max - 1) && !ends.insert(.max) && ends.ranges.count == 1)
  }
}
