import Sensors
import SensorsIIO
import Simulation
import TestSupport
import Testing

/// Comparison of scan decoding with libiio, for formats that libiio parsed from an XML context.
@Suite struct LibraryAgreementTests {
  private static func xml(_ formats: [String]) -> String {
    let channels = formats.enumerated().map { index, format in
      """
      <channel id="voltage\(index)" type="input"><scan-element index="\(index)" format="\(format)" /></channel>
      """
    }
    return """
      <?xml version="1.0" encoding="utf-8"?><context name="xml" description="formats">\
      <device id="iio:device0" name="chip">\(channels.joined())</device></context>
      """
  }

  @Test func decodesAsLibiioConverts() throws {
    var generator = SeededGenerator.announced()
    var texts: [String] = []
    for order in ["le", "be"] {
      for sign in ["s", "u"] {
        for storage in [8, 16, 32, 64] {
          for bits in [1, 3, storage / 2 + 1, storage - 1, storage] {
            for shift in Set([0, storage - bits]) {
              texts.append("\(order):\(sign)\(bits)/\(storage)&gt;&gt;\(shift)")
            }
          }
        }
      }
    }
    let context = try Context(xml: Self.xml(texts))
    var compared = 0
    for index in texts.indices {
      let mismatches = try context.withDevice("iio:device0") { device throws(IIOError) in
        try device.withChannel("voltage\(index)") { channel throws(IIOError) in
          let format = try channel.scanFormat()
          var mismatches: [String] = []
          for _ in 0..<20 {
            let bytes = (0..<format.storageBytes).map { _ in UInt8.random(in: 0...255, using: &generator) }
            let ours = format.bitPattern(in: bytes.span, at: 0)
            let theirs = channel.convertByLibrary(bytes)
            let expected = theirs.indices.map { UInt8(truncatingIfNeeded: ours >> UInt64(8 * $0)) }
            compared += 1
            if expected != theirs { mismatches.append("\(format) \(bytes): \(expected) is not \(theirs)") }
          }
          return mismatches
        }
      }
      #expect(mismatches.isEmpty, "seed \(generator.seed)")
    }
    #expect(compared == texts.count * 20)
  }

  @Test func aMissingDeviceThrows() throws {
    let context = try Context(xml: Self.xml(["le:s16/16&gt;&gt;0"]))
    #expect(throws: IIOError.self) {
      try context.withDevice("iio:device9") { _ throws(IIOError) in () }
    }
    #expect(context.deviceCount == 1)
  }
}
