/// The network interfaces of this machine, from the kernel.
package enum NetworkInterfaces {
  /// The folder with one subfolder per interface; its attributes are files.
  package static let folder = "/sys/class/net"

  /// Returns whether a text is a valid interface name: 1 to 15 letters, digits, points, dashes or
  /// underscores.
  package static func isName(_ text: String) -> Bool {
    (1...15).contains(text.utf8.count) && text != "." && text != ".."
      && text.utf8.allSatisfy { byte in
        (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
          || [0x2D, 0x2E, 0x5F].contains(byte)
      }
  }

  /// Returns whether an interface is up; false for a missing one.
  package static func isUp(_ name: String, in folder: String = folder) -> Bool {
    let flags = SmallFiles.text("\(folder)/\(name)/flags").flatMap { Int($0.dropFirst(2), radix: 16) }
    // IFF_UP is the lowest bit.
    return (flags ?? 0) & 1 != 0
  }
}
