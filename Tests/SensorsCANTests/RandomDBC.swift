import TestSupport

/// A random DBC file that cantools accepts: both byte orders, floating point, nested multiplexors with ranges, equal names in
/// exclusive branches, and statements over several lines.
struct RandomDBC {
  private(set) var text =
    "VERSION \"\"\n\nNS_ :\n\tCM_\n\tBA_DEF_\n\tVAL_\n\tSG_MUL_VAL_\n\nBS_:\n\nBU_: E\n\n"
  private(set) var messages: [(identifier: UInt32, length: Int)] = []

  private var random: SplitMix
  private var tail = ""
  private var count = 0

  init(seed: UInt64) {
    random = SplitMix(seed: seed)
    for number in 1...Int(2 + random.next() % 4) { addMessage(UInt32(number)) }
    text += "\n" + tail
    text = spread(text)
  }

  private mutating func below(_ limit: Int) -> Int { Int(random.next() % UInt64(max(1, limit))) }

  private mutating func addMessage(_ number: UInt32) {
    let identifier =
      random.next() % 2 == 0
      ? number * 100 + UInt32(below(100)) : 0x8000_0000 | number << 20 | UInt32(below(1 << 18))
    let length = [8, 8, 8, 4, 64][below(5)]
    messages.append((identifier, length))
    text += "BO_ \(identifier) M\(number): \(length) E\n"
    var free = Free(length: length)
    for _ in 0..<below(3) { addSignal("", identifier, &free) }
    switch below(4) {
    case 0: break
    case 1:
      addBranches(identifier, length, of: addMultiplexor("M", identifier, &free), depth: 0, isOnly: true)
    default:
      let top = addMultiplexor("M", identifier, &free)
      addBranches(identifier, length, of: top, depth: Int(random.next() % 3), isOnly: false)
      // A second multiplexor, present in every frame.
      let second = addMultiplexor("M", identifier, &free)
      addBranches(identifier, length, of: second, depth: 0, isOnly: false)
    }
    text += "\n"
  }

  /// Free bits for the signals of one branch. The byte orders number bits differently, so each has its own half.
  private struct Free {
    var little = 0
    var big: Int
    let middle: Int
    let end: Int

    init(length: Int) {
      middle = length * 4
      big = middle
      end = length * 8
    }
  }

  private mutating func place(_ length: Int, isBig: Bool, _ free: inout Free) -> Int? {
    let gap = below(4)
    if isBig {
      guard free.big + gap + length <= free.end else { return nil }
      defer { free.big += gap + length }
      let first = free.big + gap
      return first / 8 * 8 + 7 - first % 8
    }
    guard free.little + gap + length <= free.middle else { return nil }
    defer { free.little += gap + length }
    return free.little + gap
  }

  private mutating func addMultiplexor(_ mark: String, _ identifier: UInt32, _ free: inout Free) -> String? {
    count += 1
    let (length, isBig) = (2 + below(3), below(2) == 0)
    guard let start = place(length, isBig: isBig, &free) else { return nil }
    text += " SG_ X\(count) \(mark) : \(start)|\(length)@\(isBig ? 0 : 1)+ (1,0) [0|0] \"\" E\n"
    return "X\(count)"
  }

  private mutating func addSignal(
    _ mark: String, _ identifier: UInt32, name: String? = nil, _ free: inout Free
  ) {
    count += 1
    // SIG_VALTYPE_ would apply to all signals of the name.
    let isFloat = name == nil && below(10) == 0
    let name = name ?? "S\(count)"
    let (length, isBig) = (isFloat ? [32, 64][below(2)] : 1 + below(24), below(2) == 0)
    guard let start = place(length, isBig: isBig, &free) else { return }
    let sign = below(2) == 0 ? "+" : "-"
    let factor = ["1", "0.01", "-2.5", "0.00390625", "1000", "1E-3"][below(6)]
    let offset = ["0", "-40", "12.75"][below(3)]
    let range = ["0|0", "-10|10", "0|1e9"][below(3)]
    text +=
      " SG_ \(name) \(mark): \(start)|\(length)@\(isBig ? 0 : 1)\(sign) (\(factor),\(offset)) [\(range)] \"km/h\" E,F\n"
    if isFloat { tail += "SIG_VALTYPE_ \(identifier) \(name) : \(length / 32);\n" }
    if below(6) == 0 { tail += "VAL_ \(identifier) \(name) 0 \"zero\" 1 \"say \\\"one\\\"\" ;\n" }
    if below(8) == 0 { tail += "CM_ SG_ \(identifier) \(name) \"BO_ 1 M: 8 E\n SG_ broken\";\n" }
  }

  /// - Parameter isOnly: true if the message has one multiplexor, which needs no `SG_MUL_VAL_`.
  private mutating func addBranches(
    _ identifier: UInt32, _ length: Int, of multiplexor: String?, depth: Int, isOnly: Bool
  ) {
    guard let multiplexor else { return }
    let isNamed = isOnly && below(2) == 0
    count += 1
    let shared = "S\(count)"
    for value in 0..<3 {
      var free = Free(length: length)
      // Values of the branch: 0, 4 and 8 with ranges up to the next one.
      let first = value * 4
      let second = below(3)
      let ranges =
        below(2) == 0 ? "\(first)-\(first)" : "\(first)-\(first + second), \(first + 3)-\(first + 3)"
      func list(_ name: String) -> String { "SG_MUL_VAL_ \(identifier) \(name) \(multiplexor) \(ranges);\n" }
      if isNamed {
        addSignal("m\(first) ", identifier, name: shared, &free)
      } else {
        for _ in 0...below(2) {
          let before = count
          addSignal("m\(first) ", identifier, &free)
          if !isOnly || below(2) == 0 { tail += list("S\(before + 1)") }
        }
      }
      if depth > 0, !isOnly {
        if let nested = addMultiplexor("m\(first)M", identifier, &free) {
          tail += list(nested)
          addBranches(identifier, length, of: nested, depth: depth - 1, isOnly: false)
        }
      }
    }
  }

  /// Breaks lines at random blanks outside of quoted text.
  private mutating func spread(_ text: String) -> String {
    var (result, isText, isEscaped) = ("", false, false)
    for character in text {
      if character == "\"", !isEscaped { isText.toggle() }
      isEscaped = character == "\\"
      result +=
        character == " " && !isText && below(20) == 0 ? ["\n", "\r\n  ", "\t"][below(3)] : String(character)
    }
    return result
  }
}
