import CPeers
import Glibc

/// Command line of `odograph`: the file given with --odograph, or else the one in the folder of this program.
@MainActor func odograph(_ command: String, port: String, _ arguments: [String]) -> [String] {
  odograph(command, ["--broker", "mqtt://127.0.0.1:\(port)"], arguments)
}

/// - Parameter at: options of the source or destination.
@MainActor func odograph(_ command: String, _ at: [String], _ arguments: [String]) -> [String] {
  let own = linkTarget("/proc/self/exe")
  let folder = own.lastIndex(of: "/").map { String(own[...$0]) } ?? ""
  return [otherOdograph ?? folder + "odograph", command] + at + arguments
}

/// Runs the part of a C program in a child process of the benchmark.
func runChild(_ arguments: [String]) -> Int32 {
  guard arguments.count == 4, arguments[0] == "acknowledge", let port = Int32(arguments[1]) else { return 64 }
  return acknowledge_fleet("127.0.0.1", port, arguments[2], 4000, Int32(arguments[3]) ?? 0)
}

private func linkTarget(_ path: String) -> String {
  var bytes = [CChar](repeating: 0, count: 4096)
  let count = readlink(path, &bytes, bytes.count)
  return String(decoding: bytes.prefix(max(0, count)).map(UInt8.init(bitPattern:)), as: UTF8.self)
}
