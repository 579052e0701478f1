internal import CFakeBroker
internal import Glibc

/// OpenSSL's `s_server`, which sends a broker's packets from a file.
final class TLSServer {
  let port: Int32
  private let directory: String
  private var process: pid_t = 0

  var certificate: String { directory + "/certificate.pem" }

  init?(_ load: Load, topic: String, record: Int) {
    var template = Array("/tmp/guard-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else { return nil }
    directory = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    port = fake_broker_free_port()
    let key = directory + "/key.pem"
    let certificate = directory + "/certificate.pem"
    let stream = directory + "/stream"
    Self.wait(
      for: Self.start(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=localhost"]
          + ["-keyout", key, "-out", certificate]))
    Self.write(load, topic, to: stream)
    process = Self.start(
      ["openssl", "s_server", "-quiet", "-accept", "\(port)", "-cert", certificate, "-key", key]
        + ["-max_send_frag", "\(record)", "-naccept", "1"], input: stream)
  }

  func end() {
    kill(process, SIGKILL)
    Self.wait(for: process)
    for name in ["key.pem", "certificate.pem", "stream"] { unlink("\(directory)/\(name)") }
    rmdir(directory)
  }

  private static func write(_ load: Load, _ topic: String, to path: String) {
    var body = [0, UInt8(topic.utf8.count)] + Array(topic.utf8) + load.properties
    body += [UInt8](repeating: 0x78, count: load.size)
    var packet: [UInt8] = [0x30]
    var rest = body.count
    repeat {
      packet.append(UInt8(rest & 127) | (rest > 127 ? 128 : 0))
      rest >>= 7
    } while rest > 0
    packet += body
    guard let file = fopen(path, "w") else { return }
    fwrite([0x20, 3, 0, 0, 0] as [UInt8], 1, 5, file)
    for _ in 0..<load.count { fwrite(packet, 1, packet.count, file) }
    fclose(file)
  }

  /// - Parameter input: the file for standard input; stdout and stderr are discarded.
  private static func start(_ arguments: [String], input: String = "/dev/null") -> pid_t {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    posix_spawn_file_actions_addopen(&actions, 0, input, O_RDONLY, 0)
    for descriptor in [1, 2] as [Int32] {
      posix_spawn_file_actions_addopen(&actions, descriptor, "/dev/null", O_WRONLY, 0)
    }
    defer { posix_spawn_file_actions_destroy(&actions) }
    var pointers = arguments.map { strdup($0) } + [nil]
    defer { for pointer in pointers { free(pointer) } }
    var process: pid_t = 0
    posix_spawnp(&process, arguments[0], &actions, nil, &pointers, environ)
    return process
  }

  private static func wait(for process: pid_t) {
    var status: Int32 = 0
    waitpid(process, &status, 0)
  }
}
