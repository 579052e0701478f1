internal import Glibc
package import Pipeline
internal import Platform

/// Numbers of users and groups, from the files of this machine. A static program cannot use the C library's
/// other databases (LDAP); their accounts are named by number.
package enum AccountNames {
  package static func user(_ name: String) -> UInt32? { number(of: name, in: "/etc/passwd") }
  package static func group(_ name: String) -> UInt32? { number(of: name, in: "/etc/group") }

  /// Returns the number in the third field of the line that starts with the name; the name itself if it is a
  /// number. Nil for an unknown name.
  package static func number(of name: String, in file: String) -> UInt32? {
    if let number = UInt32(name) { return number }
    guard let bytes = try? AtomicFile.contents(of: file) else { return nil }
    for line in bytes.split(separator: UInt8(ascii: "\n")) {
      let fields = line.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
      guard fields.count > 2, fields[0].elementsEqual(name.utf8) else { continue }
      return UInt32(String(decoding: fields[2], as: UTF8.self))
    }
    return nil
  }

  /// The number of all users and groups that a user namespace lacks (user_namespaces(7)).
  static let unmapped: UInt32 = 65_534

  /// True if this process runs in a user namespace that lacks users, as in a rootless container or with systemd's
  /// `PrivateUsers=`.
  static var lackUsers: Bool {
    guard let map = try? AtomicFile.contents(of: "/proc/self/uid_map") else { return false }
    return !map.split { $0 <= 0x20 }.map { String(decoding: $0, as: UTF8.self) }.elementsEqual([
      "0", "0", "4294967295",
    ])
  }
}

/// User and groups of the process at the other end of a Unix socket, as of its connection.
package struct PeerCredentials: Hashable {
  package var user: UInt32
  package var groups: Set<UInt32>

  private static let groupLimit = 65_536

  package init(user: UInt32, groups: Set<UInt32>) { (self.user, self.groups) = (user, groups) }

  /// Nil if the kernel does not report them.
  package init?(of descriptor: Int32) {
    // struct ucred: process, user and group (socket(7)).
    var identity: [UInt32] = [0, 0, 0]
    var size = socklen_t(12)
    guard getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &identity, &size) == 0, size == 12 else {
      return nil
    }
    user = identity[1]
    groups = [identity[2]]
    var list = [UInt32](repeating: 0, count: 64)
    size = socklen_t(list.count * 4)
    if getsockopt(descriptor, SOL_SOCKET, Self.peerGroups, &list, &size) != 0, errno == ERANGE {
      // The kernel has set the required size.
      list = [UInt32](repeating: 0, count: min(Self.groupLimit, Int(size) / 4))
      size = socklen_t(list.count * 4)
      guard getsockopt(descriptor, SOL_SOCKET, Self.peerGroups, &list, &size) == 0 else { return }
    }
    groups.formUnion(list.prefix(Int(size) / 4))
  }

  /// SO_PEERGROUPS of Linux 4.13, which older headers lack.
  private static let peerGroups: Int32 = 59
}

/// The rules of a service with the numbers of their users and groups.
package struct AccessRules {
  private var rules: [(isGroup: Bool, number: UInt32, accuracy: LocalAccess.Accuracy)] = []
  private let access: LocalAccess
  /// Names that exist neither as user nor as group; their rules are ignored.
  package private(set) var unknown: [String] = []
  /// True if rules exist and users cannot be distinguished. Those that the namespace lacks then receive no positions.
  package private(set) var lacksUsers = false

  package init(_ service: AgentConfiguration.LocalService, lacksUsers: Bool = AccountNames.lackUsers) {
    access = service.access
    self.lacksUsers = lacksUsers && !service.rules.isEmpty
    for rule in service.rules {
      if let number = rule.isGroup ? AccountNames.group(rule.name) : AccountNames.user(rule.name) {
        rules.append((rule.isGroup, number, rule.accuracy))
      } else {
        unknown.append((rule.isGroup ? "@" : "") + rule.name)
      }
    }
  }

  /// Returns the access of a program: that of the first rule for its user or one of its groups, otherwise that
  /// of the service.
  /// - Parameter peer: nil for programs that connect by TCP.
  package func access(of peer: PeerCredentials?) -> LocalAccess {
    guard let peer,
      let rule = rules.first(where: {
        $0.isGroup ? peer.groups.contains($0.number) : peer.user == $0.number
      })
    else {
      let isHidden = lacksUsers && peer?.user == AccountNames.unmapped
      return isHidden ? LocalAccess(.none, privacy: access.privacy) : access
    }
    return LocalAccess(rule.accuracy, privacy: access.privacy)
  }
}
