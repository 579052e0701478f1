import CPeers
import Glibc

/// The command as it is installed: it stands beside this program where no other is named.
@MainActor func odograph(_ command: String, port: String, _ arguments: [String]) -> [String] {
  odograph(command, ["--broker", "mqtt://127.0.0.1:\(port)"], arguments)
}

/// - Parameter at: the options that say where it is to go.
@MainActor func odograph(_ command: String, _ at: [String], _ arguments: [String]) -> [String] {
  let own = linkTarget("/proc/self/exe")
  let folder = own.lastIndex(of: "/").map { String(own[...$0]) } ?? ""
  return [otherOdograph ?? folder + "odograph", command] + at + arguments
}

/// What the benchmark does in a process of its own: a C program's part.
func runChild(_ arguments: [String]) -> Int32 {
  guard arguments.count == 4, arguments[0] == "acknowledge", let port = Int32(arguments[1]) else { return 64 }
  return acknowledge_fleet("127.0.0.1", port, arguments[2], 4000, Int32(arguments[3]) ?? 0)
}

private func linkTarget(_ path: String) -> String {
  var bytes = [CChar](repeating: 0, count: 4096)
  let count = readlink(path, &bytes, bytes.count)
  return String(decoding: bytes.prefix(max(0, count)).map(UInt8.init(bitPattern:)), as: UTF8.self)
}
