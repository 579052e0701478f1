import Foundation
import SensorsCAN
import TestSupport
import Testing

/// Comparison with cantools: values of random signals in random frames.
@Suite struct CANToolsTests {
  private struct Sample {
    var message: DBCMessage
    var data: [UInt8]
  }

  /// Returns a signal at a random position in eight bytes, in a form that cantools accepts.
  private static func signal(_ name: String, _ random: inout SplitMix) -> (line: String, isFloat: Bool) {
    let isBig = random.next() % 2 == 0
    let isFloat = random.next() % 8 == 0
    let length = isFloat ? 32 : Int(random.next() % 64) + 1
    let first = Int(random.next() % UInt64(65 - length))
    // The same bits in the numbering of each byte order. Motorola numbering starts at the most significant bit of a
    // byte.
    let start = isBig ? first / 8 * 8 + 7 - first % 8 : first
    let sign = random.next() % 2 == 0 ? "+" : "-"
    let factor = ["1", "0.01", "-2.5", "0.00390625", "1000"][Int(random.next() % 5)]
    let offset = ["0", "-40", "12.75"][Int(random.next() % 3)]
    return (
      " SG_ \(name) : \(start)|\(length)@\(isBig ? 0 : 1)\(isFloat ? "-" : sign) (\(factor),\(offset)) [0|0] \"\" Vector__XXX\n",
      isFloat
    )
  }

  @Test(.needs(.canTools)) func signalsOfEveryLayoutAgreeWithCantools() throws {
    var random = SplitMix.announced()
    var text = "VERSION \"\"\n\nBU_: E\n\n"
    var types = ""
    for number in 1...300 {
      let identifier = number % 2 == 0 ? 0x8000_0000 | UInt32(number) * 1000 : UInt32(number)
      text += "BO_ \(identifier) M\(number): 8 E\n"
      let (line, isFloat) = Self.signal("S\(number)", &random)
      // Every third message is multiplexed if there are free bits.
      text += line + "\n"
      if isFloat { types += "SIG_VALTYPE_ \(identifier) S\(number) : 1;\n" }
    }
    for number in 301...360 {
      text += "BO_ \(number) M\(number): 8 E\n SG_ Mode M : 0|3@1+ (1,0) [0|0] \"\" Vector__XXX\n"
      for page in 0..<8 {
        let length = random.next() % 20 + 1
        let start = 8 + random.next() % (56 - length)
        text += " SG_ P\(page) m\(page) : \(start)|\(length)@1- (0.5,3) [0|0] \"\" Vector__XXX\n"
      }
      text += "\n"
    }
    let directory = try TemporaryDirectory()
    let path = try directory.write("random.dbc", text + "\n" + types)
    let database = try DBCDatabase(parsing: Array((text + types).utf8), name: path)
    var samples: [Sample] = []
    var lines = ""
    for message in database.messages {
      for _ in 0..<10 {
        let data = (0..<8).map { _ in UInt8(truncatingIfNeeded: random.next()) }
        samples.append(Sample(message: message, data: data))
        lines += String(message.identifier.kernelValue, radix: 16) + " "
        lines += data.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined() + "\n"
      }
    }
    let frames = try directory.write("frames", lines)
    let result = try PythonEnvironment.canTools.run("CANTools/decode.py", [path, frames])
    #expect(result.status == 0, "\(result.output.suffix(2000))")
    #expect(try compare(samples, with: result.output) >= 3600)
  }

  /// Comparison of whole random files. `ODOGRAPH_DBC_FILES=2000` raises their number.
  @Test(.needs(.canTools)) func randomFilesAgreeWithCantools() throws {
    var random = SplitMix.announced()
    let count = ProcessInfo.processInfo.environment["ODOGRAPH_DBC_FILES"].flatMap { Int($0) } ?? 60
    let directory = try TemporaryDirectory()
    var (samples, arguments) = ([Sample](), [String]())
    for number in 0..<count {
      let file = RandomDBC(seed: random.next())
      let path = try directory.write("\(number).dbc", file.text)
      let database = try DBCDatabase(parsing: Array(file.text.utf8), name: path)
      #expect(database.skipped.isEmpty, "\(database.skipped) in \(file.text)")
      #expect(database.messages.count == file.messages.count)
      var lines = ""
      for message in database.messages {
        for _ in 0..<10 {
          let data = (0..<message.length).map { _ in UInt8(truncatingIfNeeded: random.next()) }
          samples.append(Sample(message: message, data: data))
          lines += String(message.identifier.kernelValue, radix: 16) + " "
          lines += data.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined() + "\n"
        }
      }
      arguments += [path, try directory.write("\(number).frames", lines)]
    }
    let result = try PythonEnvironment.canTools.run("CANTools/decode.py", arguments)
    #expect(result.status == 0, "\(result.output.suffix(2000))")
    let compared = try compare(samples, with: result.output)
    print("\(count) files, \(samples.count) frames, \(compared) values")
    #expect(compared >= 20 * count)
  }

  /// Returns the number of values that were compared.
  private func compare(_ samples: [Sample], with output: String) throws -> Int {
    var next = output.split(separator: "\n", omittingEmptySubsequences: false).makeIterator()
    var compared = 0
    for sample in samples {
      var theirs: [[Substring]] = []
      while let line = next.next(), !line.isEmpty { theirs.append(line.split(separator: " ")) }
      let ours = sample.message.signals.compactMap { signal in
        sample.message.rawValue(of: signal, in: sample.data).map { (signal.name, signal.physical($0)) }
      }.sorted { $0.0 < $1.0 }
      #expect(ours.map(\.0) == theirs.map { String($0[0]) }, "\(sample.message)")
      for ((name, value), their) in zip(ours, theirs) {
        let expected = try #require(Double(their[1]))
        compared += 1
        // cantools multiplies whole numbers exactly.
        let isSame =
          value == expected || (value.isNaN && expected.isNaN)
          || abs(value - expected) <= 1e-12 * abs(expected)
        #expect(isSame, "\(sample.message.name).\(name) in \(sample.data): \(value), cantools \(expected)")
      }
    }
    return compared
  }
}
